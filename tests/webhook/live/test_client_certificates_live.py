"""`webhook.callers.by: Certificate`: an API server with a client certificate is answered, any other caller is not."""

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import trustme
import yaml

from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from tests.preloaded import Preloaded
from tests.webhook.webhook_process import AdmissionSetup, Replica, job_body, wait_for

VALUES = ("webhook.callers.by=Certificate", "webhook.callers.clientCASecret=api-server")
pytestmark = pytest.mark.timeout(900)


def write_pair(folder: Path, name: str, ca: trustme.CA) -> tuple[Path, Path]:
    """A client certificate of that CA, and its key."""
    pair = ca.issue_cert("kube-apiserver")
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    certificate.write_bytes(b"".join(each.bytes() for each in pair.cert_chain_pems))
    key.write_bytes(pair.private_key_pem.bytes())
    return certificate, key


def admission_configuration(folder: Path, certificate: Path, key: Path) -> Path:
    """What `--admission-control-config-file` takes: both webhook plugins use one kubeconfig."""
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    kubeconfig = folder / "webhooks.kubeconfig"
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": user}]}))
    own = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(kubeconfig),
    }
    names = ("ValidatingAdmissionWebhook", "MutatingAdmissionWebhook")
    whole = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": name, "configuration": own} for name in names],
    }
    path = folder / "admission.yaml"
    path.write_text(yaml.safe_dump(whole))
    return path


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def setup(
    control_plane_binaries: binaries.Binaries,
    tmp_path_factory: pytest.TempPathFactory,
    preloaded: Preloaded,
    ca: trustme.CA,
) -> Iterator[AdmissionSetup]:
    """An API server that shows a certificate of `ca` to webhooks, and one replica that requires it."""
    folder = tmp_path_factory.mktemp("callers")
    configuration = admission_configuration(folder, *write_pair(folder, "api-server", ca))
    arguments = [f"--admission-control-config-file={configuration}"]
    with cluster.start(
        control_plane_binaries, controllers=(), scheduler=False, extra_apiserver_args=arguments
    ) as control_plane:
        made = AdmissionSetup(control_plane, folder, preloaded=preloaded)
        try:
            made.install()
            made.group("root", isParent=True)
            ca.cert_pem.write_to_path(str(folder / "callers.crt"))
            open_to(made, folder / "callers.crt")
            yield made
        finally:
            made.close()
            print(made.say())


def open_to(setup: AdmissionSetup, client_ca: Path) -> Replica:
    """A replica that the API server calls from now on, and that takes certificates of this CA alone."""
    replica = setup.start(callers={"by": "Certificate", "clientCA": str(client_ca)})
    setup.configure(f"https://127.0.0.1:{replica.port}", *VALUES)
    wait_for(replica.is_ready, "the webhook is ready")
    wait_for(lambda: all(setup.bundles()), "the authorities are in the configurations")
    return replica


def call(replica: Replica, certificate: tuple[Path, Path] | None) -> bytes:
    """What the review port answers to a request by any caller; nothing when it closes the connection."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate is not None:
        context.load_cert_chain(*certificate)
    with (
        suppress(OSError),
        socket.create_connection(("127.0.0.1", replica.port), timeout=60) as plain,
        context.wrap_socket(plain) as secured,
    ):
        secured.sendall(b"GET /validate/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return secured.recv(100)
    return b""


def test_reviews_of_the_api_server_are_answered(setup: AdmissionSetup) -> None:
    setup.wait_trusted()
    status, message = setup.try_job(job_body("judged", "no-such-group"))
    assert status == 422
    assert message.endswith("(GroupAbsent)")


def test_caller_without_a_certificate_of_the_ca_is_refused(
    setup: AdmissionSetup, ca: trustme.CA, tmp_path: Path
) -> None:
    replica = setup.replicas[0]
    assert call(replica, None) == b""
    assert call(replica, write_pair(tmp_path, "other", trustme.CA())) == b""
    assert call(replica, write_pair(tmp_path, "own", ca)).startswith(b"HTTP/1.1 405")


def test_api_server_with_another_certificate_is_refused_and_managed_jobs_fail(
    setup: AdmissionSetup, tmp_path: Path
) -> None:
    other = tmp_path / "other.crt"
    trustme.CA().cert_pem.write_to_path(str(other))
    for kind in ("mutating", "validating"):
        setup.control_plane.kubectl("delete", f"{kind}webhookconfiguration", "quotree")
    open_to(setup, other)
    refused = wait_for(
        lambda: next((message for status, message in [setup.try_job(job_body("held", "x"))] if status == 500), ""),
        "the API server cannot call the webhook",
    )
    assert "failed calling webhook" in refused
    assert setup.try_job(job_body("free", None)) == (201, "")
