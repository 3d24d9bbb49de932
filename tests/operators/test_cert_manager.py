"""The chart's certificates made, injected and renewed by the real cert-manager: controller, webhook, cainjector."""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import yaml

from dev.operators import cert_manager
from dev.operators.cert_manager import CAINJECTOR, CERT_MANAGER, CERT_MANAGER_WEBHOOK
from dev.operators.running import running
from tests.webhook.control_planes import bare_admission
from tests.webhook.rolling.job_stream import Traffic
from tests.webhook.tls.secret_source import SECRET, render, two_replicas, wait_shown
from tests.webhook.webhook_process import MERGE, NAMESPACE, AdmissionSetup, wait_for

__all__ = ["bare_admission"]
OPERATORS = cert_manager.ALL
SOURCE = "CertManager"
CERTIFICATE = f"/apis/cert-manager.io/v1/namespaces/{NAMESPACE}/certificates/quotree-webhook"
RENEWALS = 3


@pytest.fixture(scope="module")
def place(bare_admission: AdmissionSetup) -> Iterator[AdmissionSetup]:
    """One group, `any`, that takes everything, and cert-manager."""
    bare_admission.flavor("default")
    bare_admission.group("any", quotas=[{"min": {"cpu": 1000}}])
    cluster = bare_admission.control_plane
    with running(CERT_MANAGER_WEBHOOK, cluster), running(CERT_MANAGER, cluster), running(CAINJECTOR, cluster):
        yield bare_admission


def test_certificate_is_served_trusted_and_renewed_without_a_refusal(place: AdmissionSetup) -> None:
    with two_replicas(place, SOURCE) as balancer:
        ask_for_certificates(place)
        for replica in balancer.replicas:
            wait_for(replica.is_ready, "both replicas are ready")
        place.wait_trusted()
        authority = secret(place)["ca.crt"]
        traffic = Traffic(place.control_plane, "renewed")
        with traffic.flowing():
            for _ in range(RENEWALS):
                before = secret(place)["tls.crt"]
                renew(place)
                wait_for(lambda before=before: secret(place)["tls.crt"] != before, "it is renewed")  # type: ignore[misc]
                wait_shown(balancer, secret(place)["tls.crt"])
                traffic.wait_for_more(40)
        assert (traffic.refused, traffic.lost()) == ([], [])
        assert {base64.b64decode(each) for each in place.bundles()} == {authority}


def ask_for_certificates(admission: AdmissionSetup) -> None:
    """The chart's issuers and certificates, for the address at which the webhook is called here too."""
    asked = render(admission, ("certificate",), (f"webhook.certificates.source={SOURCE}",))
    for each in asked:
        if each["metadata"]["name"] == "quotree-webhook" and each["kind"] == "Certificate":
            each["spec"]["ipAddresses"] = ["127.0.0.1"]
    admission.control_plane.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump_all(asked))


def renew(admission: AdmissionSetup) -> None:
    """What `cmctl renew` writes."""
    issuing = {
        "type": "Issuing",
        "status": "True",
        "reason": "ManuallyTriggered",
        "message": "renewed by a test",
        "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    _, certificate = admission.get(CERTIFICATE)
    others = [each for each in certificate["status"]["conditions"] if each["type"] != "Issuing"]
    change = {"status": {"conditions": [*others, issuing]}}
    status, answer = admission.control_plane.rest.request("PATCH", f"{CERTIFICATE}/status", change, MERGE)
    assert status == 200, answer


def secret(admission: AdmissionSetup) -> dict[str, bytes]:
    """What cert-manager has written, decoded."""
    return {name: base64.b64decode(value) for name, value in admission.get(SECRET)[1]["data"].items()}
