"""The chart's webhook configurations, and replicas whose certificate another process writes into the Secret."""

import base64
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.webhook.rolling.balancer import Balancer
from tests.webhook.webhook_process import NAMESPACE, REGISTRATION, AdmissionSetup, wait_for

CHART = Path(__file__).parents[3] / "charts" / "quotree"
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
SECRET = f"{SECRETS}/quotree-webhook-tls"
PLURALS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


def render(admission: AdmissionSetup, templates: Sequence[str], values: Sequence[str]) -> list[dict[str, Any]]:
    """The objects of these templates of the webhook, with these values."""
    wishes = [word for value in values for word in ("--set", value)]
    shown = [word for name in templates for word in ("--show-only", f"templates/webhook/{name}.yaml")]
    text = admission.control_plane.helm("template", "quotree", str(CHART), "-n", NAMESPACE, *wishes, *shown).stdout
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def install(admission: AdmissionSetup, url: str, *values: str) -> None:
    """The chart's configurations with these values, called by URL instead of through the Service."""
    for each in render(admission, ("mutating", "validating"), values):
        for hook in each["webhooks"]:
            del hook["clientConfig"]["service"]
            hook["clientConfig"]["url"] = url
        work = [hook for hook in each["webhooks"] if "quotree.dev" not in hook["rules"][0]["apiGroups"]]
        admission.create(f"{REGISTRATION}/{each['kind'].lower()}s", {**each, "webhooks": work})


@contextmanager
def two_replicas(admission: AdmissionSetup, source: str, *values: str) -> Iterator[Balancer]:
    """Two replicas that take their certificate from the Secret; all of it is gone at the end."""
    balancer = Balancer(admission.ports.take())
    balancer.start()
    install(admission, f"https://127.0.0.1:{balancer.port}", f"webhook.certificates.source={source}", *values)
    balancer.replicas = [admission.start(certificates={"source": source}) for _ in range(2)]
    try:
        yield balancer
    finally:
        balancer.stop()
        for replica in balancer.replicas:
            replica.kill()
        for path in (SECRET, *(f"{REGISTRATION}/{plural}/quotree" for plural in PLURALS)):
            admission.control_plane.rest.request("DELETE", path)


def wait_shown(balancer: Balancer, certificate: bytes) -> None:
    """Until both replicas show this certificate, in PEM."""

    def all_show() -> bool:
        shown = [ssl.get_server_certificate(("127.0.0.1", each.port)) for each in balancer.replicas]
        return {each.strip() for each in shown} == {certificate.decode().strip()}

    wait_for(all_show, "both replicas show the new certificate")


def text(pem: bytes) -> str:
    """As a Secret and a caBundle have it."""
    return base64.b64encode(pem).decode()
