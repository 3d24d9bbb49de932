"""Runs an operator beside a control plane, as its own service account, until the end of a block."""

import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.host.ports import Ports
from dev.controlplane.host.processes import Process
from dev.controlplane.pki import Authority
from dev.controlplane.rest import PROBE_TIMEOUT, serves, unchecked
from dev.operators import building, manifests
from dev.operators.commands import HOST, START, Site
from dev.operators.recipe import Operator

_READY: Final = 60.0


@contextmanager
def running(
    operator: Operator, control_plane: ControlPlane, progress: Callable[[str], None] = print
) -> Iterator[Process]:
    """Install the operator's definitions, rights and webhooks, and run its program, which the caller may kill.

    Its objects stay when the block ends: a control plane with an operator is thrown away with it.
    """
    built = building.ensure(operator, control_plane.binaries, progress)
    folder = control_plane.workdir / operator.name
    folder.mkdir()
    with Ports() as ports:
        site = Site(folder, ports.take(), ports.take())
        site.certificates.parent.mkdir(parents=True)
        authority = Authority(site.certificates)
        authority.server("tls")
        objects = [each for each in yaml.load_all(built.manifests.read_text(), Loader=yaml.CSafeLoader) if each]
        if objects:
            # Charts make none.
            control_plane.rest.request("POST", "/api/v1/namespaces", {"metadata": {"name": operator.account[0]}})
            install(control_plane, manifests.on_this_host(objects, _url(site), authority.certificate.read_bytes()))
        hooks = [f"{_url(site)}{path}" for path in manifests.webhook_paths(objects)]
        process = _process(operator, control_plane, built.program, site, hooks)
        process.start()
        try:
            yield process
        finally:
            process.stop()


def install(control_plane: ControlPlane, objects: list[dict[str, Any]]) -> None:
    """Apply objects, and wait until the definitions among them are served. Raises ControlPlaneError."""
    control_plane.kubectl("apply", "--server-side", "-f", "-", input=yaml.dump_all(objects, Dumper=yaml.CSafeDumper))
    defined = [each["metadata"]["name"] for each in objects if each["kind"] == "CustomResourceDefinition"]
    deadline = time.monotonic() + _READY
    while not all(_is_served(control_plane, name) for name in defined):
        if time.monotonic() > deadline:
            raise ControlPlaneError(f"the definitions {', '.join(defined)} were not served within {_READY:.0f} s")
        time.sleep(0.05)


def _is_served(control_plane: ControlPlane, definition: str) -> bool:
    """Return whether the API server has established it; `kubectl wait` fails on one without conditions yet."""
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{definition}"
    conditions = control_plane.rest.request("GET", path)[1].get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _process(operator: Operator, control_plane: ControlPlane, program: Path, site: Site, hooks: list[str]) -> Process:
    start = START[operator.name](site)
    if start.settings is not None:
        site.settings.write_text(yaml.safe_dump(dict(start.settings)))
    control_plane.service_account_kubeconfig(*operator.account).rename(site.kubeconfig)
    return Process(
        operator.name,
        [str(program), *start.arguments],
        log=control_plane.workdir / f"{operator.name}.log",
        environment={
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(site.folder),
            "TMPDIR": str(site.folder),
            "KUBECONFIG": str(site.kubeconfig),
            **(start.environment or {}),
        },
        # Some say that they are ready before their webhooks are there.
        probe=lambda: serves(f"http://{site.health_address}/{start.health}") and all(map(_is_there, hooks)),
    )


def _url(site: Site) -> str:
    return f"https://{HOST}:{site.webhook}"


def _is_there(hook: str) -> bool:
    """Return whether the webhook's server listens and knows the path, whatever it answers to an empty request."""
    try:
        with urllib.request.urlopen(hook, data=b"", timeout=PROBE_TIMEOUT, context=unchecked()):  # noqa: S310  our own
            return True
    except urllib.error.HTTPError as error:
        return error.code != http.HTTPStatus.NOT_FOUND
    except (OSError, http.client.HTTPException):
        return False
