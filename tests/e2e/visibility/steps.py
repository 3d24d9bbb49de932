"""What these tests ask of the visibility API, as which user, and what they wait for."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, TypeVar

import yaml

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.quotree import Quotree
from tests.e2e.visibility.manifests import EDIT
from tests.polling import first_true

T = TypeVar("T")
API = "/apis/visibility.quotree.dev/v1alpha1"
SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.visibility.quotree.dev"
HIDDEN = ("hidden-1", "hidden-2", "hidden-head", "hidden-owner")


def submit(control_plane: ControlPlane, namespace: str, group: str, name: str, request: int | str) -> None:
    """Create a Job that requests that much cpu or memory."""
    control_plane.apply(yaml.safe_dump(job_of(namespace, group, name, request)))


def job_of(namespace: str, group: str, name: str, request: int | str) -> dict[str, Any]:
    """A Job that requests that much cpu or memory."""
    requests = {"cpu": request} if isinstance(request, int) else {"memory": request}
    container = {"name": "a", "image": "a", "resources": {"requests": requests}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": {"quotree.dev/group": group}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }


def suspended(control_plane: ControlPlane, job: str, namespace: str = "team-b") -> bool:
    status, found = control_plane.rest.request("GET", f"/apis/batch/v1/namespaces/{namespace}/jobs/{job}")
    assert status == 200, found
    return bool(found["spec"]["suspend"])


def available(control_plane: ControlPlane) -> str:
    status, body = control_plane.rest.request("GET", SERVICE)
    if status != 200:
        return ""
    service = body.get("spec", {}).get("service")
    conditions = body.get("status", {}).get("conditions", [])
    return next((str(each["status"]) for each in conditions if service and each["type"] == "Available"), "")


def listed(quotree: Quotree) -> list[str]:
    """Return what waits in vision, in its order; nothing while the API server does not serve the API."""
    words = ("get", "pw", "-A", "-l", "quotree.dev/group=vision", "--no-headers")
    return [row[1] for row in rows(quotree.cluster.kubectl(*words, check=False).stdout)]


def wait_for(happens: Callable[[], T], what: str | Callable[[], str], seconds: float = 240) -> T:
    return first_true(happens, lambda: what if isinstance(what, str) else what(), seconds, every=0.5)


def first_answer(ask: Callable[[], CompletedProcess[str]], *texts: str) -> CompletedProcess[str]:
    """Ask until the answer has these texts: a busy reconciler might say less, or nothing, or end a watch too soon."""
    answers: list[CompletedProcess[str]] = []

    def says() -> bool:
        answers.append(ask())
        words = answers[-1].stdout + answers[-1].stderr
        return answers[-1].returncode == 0 and all(text in words for text in texts)

    wait_for(says, lambda: f"an answer says {texts}: {answers[-1]}")
    return answers[-1]


def as_team(quotree: Quotree, team: str, *words: str) -> CompletedProcess[str]:
    """Run kubectl as the tenant, and return its exit code and output."""
    return quotree.cluster.kubectl(*words, as_kubeconfig=tenant(quotree, team), check=False)


_KUBECONFIGS: dict[tuple[str, str], Path] = {}


def tenant(quotree: Quotree, team: str) -> Path:
    key = (quotree.cluster.url, team)
    if key not in _KUBECONFIGS:
        _KUBECONFIGS[key] = quotree.cluster.kubeconfig_for(team)
    return _KUBECONFIGS[key]


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def dry_run(quotree: Quotree) -> CompletedProcess[str]:
    words = ("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-")
    return quotree.cluster.kubectl(*words, input=EDIT, as_kubeconfig=tenant(quotree, "team-a"), check=False)


def run_command(quotree: Quotree, *words: str, program: str = "quotree") -> CompletedProcess[str]:
    """Run a program of the command line, and return its exit code and output."""
    path = f"{quotree.cluster.binaries.kubectl.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "KUBECONFIG": str(quotree.cluster.kubeconfig)}
    line = [str(quotree.commands / program), *words]
    return subprocess.run(line, capture_output=True, text=True, check=False, env=environment)


def printed(quotree: Quotree, *words: str) -> str:
    """What a command prints; a busy API is not served for a moment."""
    return first_answer(lambda: run_command(quotree, *words)).stdout


def serving_process(quotree: Quotree) -> int | None:
    """The process that the reconciler has started to serve the API; None while there is none."""
    children = Path(f"/proc/{quotree.reconcilers[-1].pid}/task").glob("*/children")
    for child in (int(word) for each in children for word in each.read_text().split()):
        if b"reconciler.visibility.front" in Path(f"/proc/{child}/cmdline").read_bytes():
            return child
    return None
