"""The webhook's certificate: stored again when it is lost, renewed, given by hand and replaced."""

import base64
import socket
import ssl
import time

import trustme

from tests.e2e_node.site import CHART, NAMESPACE, Site
from tests.e2e_node.stream import Stream

OWN = "quotree-webhook-tls"
GIVEN = "given-tls"
NAME = f"quotree-webhook.{NAMESPACE}.svc"


def test_deleted_secret_is_created_again_and_no_job_is_refused(clean: Site) -> None:
    with Stream(clean) as asked:
        clean.kubectl("delete", "secret", OWN, "-n", NAMESPACE)
        seconds = clean.until("the Secret is there again", lambda: _secret(clean, OWN) != "")
        clean.until("both replicas show its certificate", lambda: _shown(clean) == {_leaf(clean, OWN)})
        time.sleep(2)

    clean.figures["certificate Secret deleted"] = f"{asked.summary()}; stored again after {seconds:.1f} s"
    assert asked.refusals == []


def test_a_certificate_is_renewed_and_no_job_is_refused(clean: Site) -> None:
    lifetimes = ("--set", "webhook.certificates.leafLife=90s", "--set", "webhook.certificates.overlap=5s")
    _stop_webhook(clean)
    clean.kubectl("delete", "secret", OWN, "-n", NAMESPACE)
    clean.helm("upgrade", "quotree", CHART, "--wait", "--timeout", "120s", *lifetimes)
    clean.settle()
    with Stream(clean) as asked:
        before = _secret(clean, OWN)
        seconds = clean.until("it is renewed", lambda: _secret(clean, OWN) not in ("", before), patience=180)
        clean.until("both replicas show the new one", lambda: _shown(clean) == {_leaf(clean, OWN)})
        time.sleep(2)

    clean.figures["certificate of 90 s renewed"] = f"{asked.summary()}; after {seconds:.1f} s"
    clean.helm("upgrade", "quotree", CHART, "--wait", "--timeout", "120s", "--reset-values")
    assert asked.refusals == []


def test_given_certificate_and_its_replacement_are_used(clean: Site) -> None:
    authority = trustme.CA()
    first, second = authority.issue_cert(NAME), authority.issue_cert(NAME)
    _give(clean, authority, first)
    bundle = base64.b64encode(authority.cert_pem.bytes()).decode()
    settings = ["certificates.source=Given", f"certificates.secretName={GIVEN}", f"caBundle={bundle}"]
    flags = [word for setting in settings for word in ("--set", f"webhook.{setting}")]
    # As documented: pods that make the certificate would write their own authority over the given one.
    _stop_webhook(clean)
    try:
        clean.helm("upgrade", "quotree", CHART, "--wait", "--timeout", "120s", *flags)
        clean.settle()
        clean.until("both replicas show the given one", lambda: _shown(clean) == {_leaf(clean, GIVEN)})
        clean.until("the Service leads to them", lambda: _is_answered(clean))
        with Stream(clean) as asked:
            _give(clean, authority, second)
            seconds = clean.until("both replicas show its replacement", lambda: _shown(clean) == {_leaf(clean, GIVEN)})
        clean.figures["given certificate replaced"] = f"{asked.summary()}; shown after {seconds:.1f} s"
        assert asked.refusals == []
    finally:
        clean.helm("upgrade", "quotree", CHART, "--wait", "--timeout", "120s", "--reset-values")
        clean.kubectl("delete", "secret", GIVEN, "-n", NAMESPACE)
    clean.until("both replicas show their own again", lambda: _shown(clean) == {_leaf(clean, OWN)})


def _is_answered(site: Site) -> bool:
    """Whether reviews reach a replica: after a start from zero kube-proxy learns of its pods a moment later."""
    with Stream(site) as asked:
        time.sleep(0.3)
    return not asked.refusals


def _stop_webhook(site: Site) -> None:
    site.kubectl("scale", "deployment", "quotree-webhook", "-n", NAMESPACE, "--replicas=0")
    site.until("no webhook pod is left", lambda: not site.pods("webhook"))


def _give(site: Site, authority: trustme.CA, leaf: trustme.LeafCert) -> None:
    files = {
        "tls.crt": b"".join(each.bytes() for each in leaf.cert_chain_pems),
        "tls.key": leaf.private_key_pem.bytes(),
        "ca.crt": authority.cert_pem.bytes(),
    }
    data = {name: base64.b64encode(content).decode() for name, content in files.items()}
    metadata = {"name": GIVEN, "namespace": NAMESPACE}
    done = site.apply(
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls", "data": data}
    )
    assert done.returncode == 0, done.stderr


def _secret(site: Site, name: str) -> str:
    """The certificate chain in a Secret; empty when there is none."""
    listed = site.get("secrets", "-n", NAMESPACE, "--field-selector", f"metadata.name={name}")["items"]
    return base64.b64decode(listed[0]["data"].get("tls.crt", "")).decode() if listed else ""


def _leaf(site: Site, name: str) -> bytes:
    chain = _secret(site, name)
    end = "-----END CERTIFICATE-----"
    return ssl.PEM_cert_to_DER_cert(chain.partition(end)[0] + end) if chain else b""


def _shown(site: Site) -> set[bytes]:
    """The certificates that the webhook pods show to who connects."""
    return {_shown_at(pod["status"]["podIP"]) for pod in site.pods("webhook") if pod["status"].get("podIP")}


def _shown_at(address: str) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with socket.create_connection((address, 9443), timeout=2) as plain, context.wrap_socket(plain) as tls:
            return tls.getpeercert(binary_form=True) or b""
    except OSError:
        return b""
