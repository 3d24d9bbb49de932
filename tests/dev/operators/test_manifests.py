"""An operator's manifests for a program on this host."""

import base64

from dev.operators.manifests import on_this_host, webhook_paths

HOOK = {
    "name": "v.example.com",
    "clientConfig": {"service": {"name": "web", "namespace": "system", "path": "/validate"}},
}
CONFIGURATION = {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "web"}, "webhooks": [HOOK]}
ROLE = {"kind": "ClusterRole", "metadata": {"name": "operator"}}


def test_deployment_is_left_out_and_webhooks_use_a_url() -> None:
    run = [
        {"kind": kind, "metadata": {"name": "x"}} for kind in ("Deployment", "Job", "Service", "Secret", "ConfigMap")
    ]
    bundle = base64.b64encode(b"PEM").decode()
    called = {"name": "v.example.com", "clientConfig": {"url": "https://127.0.0.1:9/validate", "caBundle": bundle}}
    applied = on_this_host([*run, None, ROLE, CONFIGURATION], "https://127.0.0.1:9", b"PEM")
    assert applied == [ROLE, {**CONFIGURATION, "webhooks": [called]}]


def test_an_operator_is_called_at_the_paths_of_its_webhook_configurations() -> None:
    assert [webhook_paths([ROLE, None]), webhook_paths([ROLE, CONFIGURATION])] == [[], ["/validate"]]
