"""Certificates and replicas come and go under a stream of Jobs, and not one that should pass is refused or lost."""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from shared.tls.ca import KeyPair, issue, names_of
from tests.webhook.rolling.balancer import Balancer
from tests.webhook.rolling.job_stream import Traffic
from tests.webhook.rolling.restart import restart_both, two_replicas
from tests.webhook.webhook_process import MERGE, NAMESPACE, PATCH, REGISTRATION, AdmissionSetup, wait_for

SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/quotree-webhook-tls"
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def balanced(bare_admission: AdmissionSetup) -> Iterator[tuple[AdmissionSetup, Balancer]]:
    """Two replicas behind one address, and one group that takes everything."""
    with two_replicas(bare_admission) as balancer:
        yield bare_admission, balancer


def test_rolling_restart_of_two_replicas_refuses_no_request(balanced: tuple[AdmissionSetup, Balancer]) -> None:
    """`python -m benchmarks.webhook.rolling_restart` does the same at 200 Jobs a second."""
    admission, balancer = balanced
    traffic = Traffic(admission.control_plane, "rolling")
    with traffic.flowing():
        restart_both(admission, balancer, traffic)
    print(f"{len(traffic.created)} Jobs created, {traffic.achieved:.0f} a second, while both replicas were restarted")
    assert traffic.refused == []
    assert traffic.lost() == []
    assert len(traffic.created) >= 2 * traffic.rate


def test_ca_bundles_removed_from_the_configurations_are_restored(balanced: tuple[AdmissionSetup, Balancer]) -> None:
    admission, _ = balanced
    before = admission.bundles()
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        emptied = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
        replaced = [{"op": "replace", "path": "/webhooks/1/clientConfig/caBundle", "value": before[0]}]
        admission.control_plane.rest.request("PATCH", f"{REGISTRATION}/{plural}/quotree", [*emptied, *replaced], PATCH)
    wait_for(lambda: admission.bundles() == before, "the authorities are back")


def spoilt(way: str, secret: dict[str, str]) -> dict[str, str]:
    """What that way of damage writes into the Secret."""
    if way == "half-written":
        return {"tls.crt": secret["tls.crt"][:400]}
    if way == "mismatched":
        return {"tls.key": base64.b64encode(b"another key").decode()}
    ca, served = (
        {name: base64.b64decode(secret[f"{part}.{name}"]) for name in ("crt", "key")} for part in ("ca", "tls")
    )
    long_ago = datetime.now(UTC) - timedelta(days=30)
    expired = issue(KeyPair(ca["crt"], ca["key"]), names_of(served["crt"]), timedelta(days=1), long_ago)
    return {
        "tls.crt": base64.b64encode(expired.certificate).decode(),
        "tls.key": base64.b64encode(expired.key).decode(),
    }


@pytest.mark.parametrize("way", ["half-written", "mismatched", "expired", "deleted"])
def test_corrupted_secret_is_repaired_while_reviews_continue(
    balanced: tuple[AdmissionSetup, Balancer], way: str
) -> None:
    admission, _ = balanced
    before = admission.get(SECRET)[1]["data"]
    written = {} if way == "deleted" else spoilt(way, before)
    traffic = Traffic(admission.control_plane, way)
    with traffic.flowing():
        traffic.wait_for_more(10)
        if way == "deleted":
            admission.control_plane.rest.request("DELETE", SECRET)
        else:
            admission.control_plane.rest.request("PATCH", SECRET, {"data": written}, MERGE)

        def is_repaired() -> bool:
            status, secret = admission.get(SECRET)
            if status != 200 or secret["data"]["ca.crt"] != before["ca.crt"]:
                return False
            return not any(secret["data"][name] == value for name, value in written.items())

        traffic.wait_for_more(20)
        wait_for(is_repaired, "the Secret is whole again")
        traffic.wait_for_more(40)
    assert traffic.refused == []


def test_ca_is_replaced_with_an_overlap_and_without_a_refusal(balanced: tuple[AdmissionSetup, Balancer]) -> None:
    admission, _ = balanced
    before = admission.get(SECRET)[1]["data"]
    traffic = Traffic(admission.control_plane, "authority")
    with traffic.flowing():
        traffic.wait_for_more(10)
        lost = [{"op": "replace", "path": "/data/ca.key", "value": ""}]
        admission.control_plane.rest.request("PATCH", SECRET, lost, PATCH)
        wait_for(lambda: admission.get(SECRET)[1]["data"].get("ca-old.crt") == before["ca.crt"], "the overlap")
        wait_for(
            lambda: admission.get(SECRET)[1]["data"]["tls.crt"] != before["tls.crt"], "a certificate of the new one"
        )
        traffic.wait_for_more(80)
    after = admission.get(SECRET)[1]["data"]
    both = base64.b64encode(base64.b64decode(after["ca.crt"]) + base64.b64decode(before["ca.crt"])).decode()
    wait_for(lambda: set(admission.bundles()) == {both}, "both authorities are in the configurations")
    assert traffic.refused == []
