"""Certificates of other sources: the webhook serves the Secret, writes nothing, and renewals refuse no request.

Without cert-manager: the test writes what it writes, the Secret and, where the chart's annotation asks for it, the
authority in the webhook configurations. The real one is in `tests/operators/test_cert_manager.py`.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.tls.ca import KeyPair, issue, make_ca
from tests.webhook.rolling.job_stream import Traffic
from tests.webhook.tls.secret_source import PLURALS, SECRET, SECRETS, text, two_replicas, wait_shown
from tests.webhook.webhook_process import MERGE, NAMESPACE, PATCH, REGISTRATION, AdmissionSetup, wait_for

INJECT_FROM = "cert-manager.io/inject-ca-from"
DAY = timedelta(days=1)
pytestmark = pytest.mark.timeout(900)


def authority() -> KeyPair:
    return make_ca(100 * DAY, datetime.now(UTC))


def leaf(of: KeyPair) -> KeyPair:
    return issue(of, ("127.0.0.1", f"quotree-webhook.{NAMESPACE}.svc"), 90 * DAY, datetime.now(UTC))


def data_of(pair: KeyPair, of: KeyPair) -> dict[str, str]:
    """The Secret's data, as cert-manager writes it."""
    return {"tls.crt": text(pair.certificate), "tls.key": text(pair.key), "ca.crt": text(of.certificate)}


@pytest.fixture(scope="module")
def place(bare_admission: AdmissionSetup) -> AdmissionSetup:
    """One group, `any`, that takes everything."""
    bare_admission.flavor("default")
    bare_admission.group("any", quotas=[{"min": {"cpu": 1000}}])
    return bare_admission


def trust(admission: AdmissionSetup, bundle: bytes) -> None:
    """Write these authorities into every entry, as an injector or a person does."""
    for plural in PLURALS:
        path = f"{REGISTRATION}/{plural}/quotree"
        hooks = range(len(admission.get(path)[1]["webhooks"]))
        change = [{"op": "add", "path": f"/webhooks/{at}/clientConfig/caBundle", "value": text(bundle)} for at in hooks]
        assert admission.control_plane.rest.request("PATCH", path, change, PATCH)[0] == 200


def write(admission: AdmissionSetup, data: dict[str, str]) -> None:
    """Change members of the Secret."""
    assert admission.control_plane.rest.request("PATCH", SECRET, {"data": data}, MERGE)[0] == 200


def create_secret(admission: AdmissionSetup, data: dict[str, str], **metadata: Any) -> None:
    body = {"metadata": {"name": "quotree-webhook-tls", **metadata}, "type": "kubernetes.io/tls", "data": data}
    admission.create(SECRETS, body)


def test_certificate_of_cert_manager_is_served_and_renewed_without_a_refusal(place: AdmissionSetup) -> None:
    ca = authority()
    first, second, third = leaf(ca), leaf(ca), leaf(ca)
    with two_replicas(place, "CertManager") as balancer:
        for plural in PLURALS:
            made = place.get(f"{REGISTRATION}/{plural}/quotree")[1]
            assert made["metadata"]["annotations"][INJECT_FROM] == f"{NAMESPACE}/quotree-webhook"
        assert set(place.bundles()) == {""}
        wait_for(lambda: "no certificate yet" in balancer.replicas[0].unready(), "it waits for its certificate")
        create_secret(place, data_of(first, ca), annotations={"cert-manager.io/certificate-name": "quotree-webhook"})
        for replica in balancer.replicas:
            wait_for(replica.is_ready, "both replicas are ready")
        trust(place, ca.certificate)
        place.wait_trusted()
        traffic = Traffic(place.control_plane, "renewed")
        with traffic.flowing():
            write(place, data_of(second, ca))
            wait_shown(balancer, second.certificate)
            traffic.wait_for_more(20)
            write(place, {"tls.crt": text(third.certificate)})
            wait_for(lambda: "cannot be used together" in balancer.replicas[0].message(), "it sees half of a pair")
            wait_shown(balancer, second.certificate)
            traffic.wait_for_more(20)
            write(place, {"tls.key": text(third.key)})
            wait_shown(balancer, third.certificate)
            traffic.wait_for_more(20)
        assert (traffic.refused, traffic.lost()) == ([], [])
        assert place.get(SECRET)[1]["data"] == data_of(third, ca)
        assert set(place.bundles()) == {text(ca.certificate)}


def test_given_certificate_and_its_ca_are_replaced_without_a_refusal(place: AdmissionSetup) -> None:
    old, new = authority(), authority()
    first, second = leaf(old), leaf(new)
    create_secret(place, data_of(first, old))
    with two_replicas(place, "Given", f"webhook.caBundle={text(old.certificate)}") as balancer:
        for replica in balancer.replicas:
            wait_for(replica.is_ready, "both replicas are ready")
        place.wait_trusted()
        traffic = Traffic(place.control_plane, "given")
        with traffic.flowing():
            trust(place, old.certificate + new.certificate)
            traffic.wait_for_more(40)
            write(place, data_of(second, new))
            wait_shown(balancer, second.certificate)
            traffic.wait_for_more(40)
            trust(place, new.certificate)
            traffic.wait_for_more(40)
        assert (traffic.refused, traffic.lost()) == ([], [])


def test_deleted_given_secret_is_not_created_by_the_webhook(place: AdmissionSetup) -> None:
    ca = authority()
    pair = leaf(ca)
    create_secret(place, data_of(pair, ca))
    with two_replicas(place, "Given", f"webhook.caBundle={text(ca.certificate)}") as balancer:
        for replica in balancer.replicas:
            wait_for(replica.is_ready, "both replicas are ready")
        place.wait_trusted()
        traffic = Traffic(place.control_plane, "deleted")
        with traffic.flowing():
            place.control_plane.rest.request("DELETE", SECRET)
            traffic.wait_for_more(40)
        assert traffic.refused == []
        assert place.get(SECRET)[0] == 404
        wait_shown(balancer, pair.certificate)
