"""Another admission webhook: it answers slowly and refuses every object with a certain name."""

import asyncio
import base64
import contextlib
import json
import ssl
import threading
from collections.abc import Iterator

import trustme
from aiohttp import web

from dev.controlplane.cluster import ControlPlane
from shared.api.names import GROUP, VERSION

CONFIGURATION = "another-webhook"
REFUSED = "refused-elsewhere"
DELAY = 0.3


async def _answer(request: web.Request) -> web.Response:
    review = json.loads(await request.read())["request"]
    await asyncio.sleep(DELAY)
    allowed = REFUSED not in review["name"]
    answer = {"uid": review["uid"], "allowed": allowed, "status": {"message": "refused elsewhere", "code": 403}}
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}
    return web.json_response(body)


async def _close(runner: web.AppRunner) -> None:
    """End what is open; TLS takes a moment to say goodbye."""
    await runner.cleanup()
    await asyncio.sleep(1)


@contextlib.contextmanager
def refusing_webhook(control_plane: ControlPlane) -> Iterator[None]:
    """It listens, and the API server asks it about QuotaGroups as well."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="refusing_webhook", daemon=True)
    thread.start()
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    app = web.Application()
    app.router.add_post("/", _answer)
    runner = web.AppRunner(app, access_log=None)

    async def listen() -> int:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        return int(runner.addresses[0][1])

    port = asyncio.run_coroutine_threadsafe(listen(), loop).result(60)
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    rule = {"apiGroups": [GROUP], "apiVersions": [VERSION], "resources": ["quotagroups"], "operations": ["*"]}
    webhook = {
        "name": "another.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {
            "url": f"https://127.0.0.1:{port}/",
            "caBundle": base64.b64encode(authority.cert_pem.bytes()).decode(),
        },
        "rules": [rule],
    }
    body = {"metadata": {"name": CONFIGURATION}, "webhooks": [webhook]}
    code, answer = control_plane.rest.request("POST", path, body)
    assert code == 201, answer
    try:
        yield
    finally:
        control_plane.rest.request("DELETE", f"{path}/{CONFIGURATION}")
        asyncio.run_coroutine_threadsafe(_close(runner), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
