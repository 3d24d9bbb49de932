"""Two webhooks that say yes at once to every Job: what being asked costs, whatever the answer is made of."""

import asyncio
import base64
import os
import ssl
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml
from aiohttp import web

from benchmarks.starting.contender import Contender
from benchmarks.starting.limit import ROOT, limit
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.host.ports import Ports
from dev.controlplane.host.processes import AS_MODULE, Process
from dev.controlplane.pki import Authority

PROGRAM: Final = "benchmarks.starting.agreeing"
_SORTS: Final = ("Mutating", "Validating")


@contextmanager
def reviewed_limit(control_plane: ControlPlane, run: Sequence[str] = AS_MODULE) -> Iterator[Contender]:
    """The limit, with a mutating and a validating webhook asked about each Job that is created.

    `run`: what Python gets before the name of each module.
    """
    authority, ports = Authority(control_plane.workdir / "agreeing"), Ports()
    certificate, key = authority.server("agreeing")
    port, ready = ports.take(), control_plane.workdir / "agreeing.ready"
    process = Process(
        "agreeing",
        [sys.executable, *run, PROGRAM, *map(str, (port, certificate, key, ready))],
        log=control_plane.workdir / "agreeing.log",
        environment={**os.environ, "PYTHONPATH": str(ROOT)},
        probe=ready.exists,
    )
    process.start()
    try:
        called = {
            "url": f"https://127.0.0.1:{port}/",
            "caBundle": base64.b64encode(authority.certificate.read_bytes()).decode(),
        }
        control_plane.apply(yaml.safe_dump_all([_configuration(sort, called) for sort in _SORTS]))
        with limit(control_plane, run) as contender:
            yield replace(contender, name="and reviews", programs=(*contender.programs, PROGRAM))
    finally:
        process.stop()
        ports.close()


def _configuration(sort: str, called: Mapping[str, str]) -> dict[str, Any]:
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"], "operations": ["CREATE"]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{sort}WebhookConfiguration",
        "metadata": {"name": "agreeing"},
        "webhooks": [
            {
                "name": "agreeing.benchmarks.quotree.dev",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "clientConfig": dict(called),
                "rules": [rule],
            }
        ],
    }


async def agree(request: web.Request) -> web.Response:
    """Answer a review with yes."""
    review = await request.json()
    answer = {"uid": review["request"]["uid"], "allowed": True}
    return web.json_response({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": answer})


async def serve(port: int, certificate: Path, key: Path, ready: Path) -> None:
    """Answer indefinitely."""
    application = web.Application()
    application.router.add_post("/", agree)
    runner = web.AppRunner(application)
    await runner.setup()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context).start()
    await asyncio.to_thread(ready.touch)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), *map(Path, sys.argv[2:])))
