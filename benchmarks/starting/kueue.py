"""Kueue as a contender: the manager of its chart on this host, webhooks by URL, a ClusterQueue for each leaf."""

import base64
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from benchmarks.starting import kueue_program
from benchmarks.starting.contender import TWENTY, Contender, Leaf, by_parent
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.host.ports import Ports
from dev.controlplane.host.processes import Process
from dev.controlplane.pki import Authority
from dev.controlplane.rest import serves
from dev.operators.running import install

NAMESPACE: Final = "kueue-system"
API: Final = "kueue.x-k8s.io/v1beta2"
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
LEFT_OUT: Final = ("Deployment", "Service", "APIService", "Secret")
OTHERS_KINDS: Final = ("mutate-batch-v1-job", "validate-batch-v1-job", "kueue-x-k8s-io")
"""Webhooks of these paths are kept: of batch Jobs, and of Kueue's own kinds."""


class Workers(NamedTuple):
    """How many Jobs and how many Workloads it looks at side by side."""

    jobs: int
    workloads: int


OF_ITS_CHART: Final = Workers(5, 10)


@contextmanager
def kueue(
    control_plane: ControlPlane, leaves: Sequence[Leaf] = TWENTY, *, reclaims: bool = False
) -> Iterator[Contender]:
    """With higher client limits than its chart gives it, so that not they are measured; no leader election.

    `reclaims`: whether a leaf takes back what others have borrowed.
    """
    with manager(control_plane):
        apply_once_it_listens(control_plane, yaml.safe_dump_all(_queues(leaves, reclaims=reclaims)))

        names = [leaf.name for leaf in leaves]

        def stop(policy: str) -> None:
            patch = f'{{"spec": {{"stopPolicy": "{policy}"}}}}'
            control_plane.kubectl("patch", "clusterqueue", *names, "--type=merge", "--patch", patch)

        def known() -> int:
            """Count what waits and what has its quota."""
            found = [control_plane.rest.request("GET", f"/apis/{API}/clusterqueues/{name}")[1] for name in names]
            counts = [each.get("status", {}) for each in found]
            return sum(each.get("pendingWorkloads", 0) + each.get("reservingWorkloads", 0) for each in counts)

        yield Contender(
            "Kueue", QUEUE_LABEL, leaves, lambda: stop("Hold"), lambda: stop("None"), ("kueue",), known=known
        )


@contextmanager
def manager(control_plane: ControlPlane, workers: Workers = OF_ITS_CHART) -> Iterator[Process]:
    """Install what its chart has beside the manager, and run that, which the caller may stop and start again."""
    files = kueue_program.ensure(progress=print)
    folder = control_plane.workdir / "kueue"
    folder.mkdir()
    with Ports() as ports:
        webhook, health, metrics = ports.take(), ports.take(), ports.take()
        authority = Authority(folder)
        authority.server("tls")
        _install(control_plane, files.chart, f"https://127.0.0.1:{webhook}", authority.certificate)
        process = Process(
            "kueue",
            [
                str(files.program),
                f"--config={_settings(folder, workers, webhook, health, metrics)}",
                "--feature-gates=VisibilityOnDemand=false",
            ],
            log=folder / "kueue.log",
            environment={
                **os.environ,
                "KUBECONFIG": str(control_plane.kubeconfig),
                "POD_NAMESPACE": NAMESPACE,
                kueue_program.METRICS_CERTIFICATES: str(folder),
            },
            probe=lambda: serves(f"http://127.0.0.1:{health}/readyz"),
        )
        process.start()
        try:
            yield process
        finally:
            process.stop()


def _install(control_plane: ControlPlane, chart: Path, url: str, authority: Path) -> None:
    bundle = base64.b64encode(authority.read_bytes()).decode()
    rendered = control_plane.helm("template", "kueue", str(chart), "--namespace", NAMESPACE).stdout
    objects = [each for each in yaml.safe_load_all(rendered) if each and each["kind"] not in LEFT_OUT]
    for each in objects:
        if each["kind"] == "CustomResourceDefinition" and "conversion" in each["spec"]:
            each["spec"]["conversion"]["webhook"]["clientConfig"] = {"url": f"{url}/convert", "caBundle": bundle}
        if "webhooks" in each:
            each["webhooks"] = [_by_url(hook, url, bundle) for hook in each["webhooks"] if _is_needed(hook)]
    objects.insert(0, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    install(control_plane, objects)


def _is_needed(hook: dict[str, Any]) -> bool:
    path = hook["clientConfig"]["service"]["path"]
    return any(each in path for each in OTHERS_KINDS)


def _by_url(hook: dict[str, Any], url: str, bundle: str) -> dict[str, Any]:
    path = hook["clientConfig"]["service"]["path"]
    return {**hook, "clientConfig": {"url": f"{url}{path}", "caBundle": bundle}}


def _settings(folder: Path, workers: Workers, webhook: int, health: int, metrics: int) -> Path:
    path = folder / "settings.yaml"
    settings = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": f"127.0.0.1:{metrics}"},
        "webhook": {"host": "127.0.0.1", "port": webhook, "certDir": str(folder)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "clientConnection": {"qps": 2000, "burst": 4000},
        "controller": {
            "groupKindConcurrency": {
                "Job.batch": workers.jobs,
                "Workload.kueue.x-k8s.io": workers.workloads,
                "LocalQueue.kueue.x-k8s.io": 5,
                "ClusterQueue.kueue.x-k8s.io": 5,
                "ResourceFlavor.kueue.x-k8s.io": 1,
            }
        },
        "integrations": {"frameworks": ["batch/job"]},
    }
    path.write_text(yaml.safe_dump(settings))
    return path


def _queues(leaves: Sequence[Leaf], *, reclaims: bool) -> list[dict[str, Any]]:
    preemption = {"preemption": {"reclaimWithinCohort": "Any"}} if reclaims else {}
    found = [kueue_object("ResourceFlavor", "default", {})]
    for parent, below in by_parent(leaves).items():
        found.append(kueue_object("Cohort", parent, {"parentName": "organisation"}))
        for leaf in below:
            spec = {"cohortName": parent, "namespaceSelector": {}, "resourceGroups": _quota(leaf), **preemption}
            found.append(kueue_object("ClusterQueue", leaf.name, spec))
            found.append(kueue_object("LocalQueue", leaf.name, {"clusterQueue": leaf.name}, namespace="default"))
    return found


def _quota(leaf: Leaf) -> list[dict[str, Any]]:
    resources = [{"name": name, "nominalQuota": quantity} for name, quantity in leaf.room.items()]
    return [{"coveredResources": list(leaf.room), "flavors": [{"name": "default", "resources": resources}]}]


def kueue_object(kind: str, name: str, spec: dict[str, Any], **metadata: str) -> dict[str, Any]:
    """Return an object of Kueue's API."""
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def apply_once_it_listens(control_plane: ControlPlane, manifests: str) -> None:
    """Its webhook answers some seconds after it says that it is ready."""
    deadline = time.monotonic() + 120
    while True:
        try:
            control_plane.apply(manifests)
            return
        except ControlPlaneError:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)
