"""Objects of one kind whose real operator runs beside simulated nodes: what a test does with them and asks."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dev.controlplane import cluster
from dev.controlplane.host.processes import Process
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs.binaries import Binaries
from dev.operators.recipe import Operator
from dev.operators.running import running

Object = dict[str, Any]
Labels = Mapping[str, str] | None
LONG = 240.0
GPU = "nvidia.com/gpu"
_ROOM = {"cpu": "100", "memory": "1Ti", "pods": "500"}
NODES = (
    NodeSpec("a100-0", labels={"model": "a100"}, allocatable={**_ROOM, GPU: "64"}),
    NodeSpec("t4-0", labels={"model": "t4"}, allocatable=_ROOM),
)


@dataclass(frozen=True, slots=True)
class Operated:
    """A cluster with an operator, which a test may kill and must start again, and the kind that it asks about."""

    cluster: cluster.ControlPlane
    operator: Process
    user: str
    api: str
    plural: str

    def create(self, manifest: Mapping[str, Any]) -> Object:
        """The object as stored."""
        status, answer = self.cluster.rest.request("POST", self._path(manifest["metadata"]["namespace"]), manifest)
        assert status == 201, answer
        return dict(answer)

    def get(self, namespace: str, name: str) -> Object:
        status, answer = self.cluster.rest.request("GET", f"{self._path(namespace)}/{name}")
        assert status == 200, answer
        return dict(answer)

    def patch(self, namespace: str, name: str, operations: Sequence[Mapping[str, Any]]) -> Object:
        """By JSON Patch."""
        path = f"{self._path(namespace)}/{name}"
        status, answer = self.cluster.rest.request("PATCH", path, operations, "application/json-patch+json")
        assert status == 200, answer
        return dict(answer)

    def condition(self, namespace: str, name: str, kind: str) -> str:
        """True, False or Unknown; empty while it is not there."""
        found = self.get(namespace, name).get("status", {}).get("conditions", [])
        return next((str(each["status"]) for each in found if each["type"] == kind), "")

    def jobs(self, namespace: str) -> dict[str, Object]:
        """All Jobs of a namespace, by name."""
        found = self.cluster.rest.request("GET", f"/apis/batch/v1/namespaces/{namespace}/jobs")[1]["items"]
        return {each["metadata"]["name"]: each for each in found}

    def pods(self, namespace: str) -> list[Object]:
        """All pods of a namespace that have not ended, those that are being deleted too."""
        found = self.cluster.rest.request("GET", f"/api/v1/namespaces/{namespace}/pods")[1]["items"]
        return [each for each in found if each["status"]["phase"] in ("Pending", "Running")]

    def end_pods(self, namespace: str) -> None:
        """Let all pods that are there complete."""
        self.cluster.kubectl("annotate", "pods", "--all", "-n", namespace, "demo.quotree.dev/run-for=0s")

    def nodes(self, namespace: str) -> list[str]:
        """The nodes of these pods, sorted; empty names for pods that have none yet."""
        return sorted(each["spec"].get("nodeName", "") for each in self.pods(namespace))

    def _path(self, namespace: str) -> str:
        return f"/apis/{self.api}/namespaces/{namespace}/{self.plural}"


@contextmanager
def operated(binaries: Binaries, operator: Operator, api: str, plural: str) -> Iterator[Operated]:
    """A control plane of its own, of which nothing is governed, with the operator."""
    controllers = (*cluster.DEFAULT_CONTROLLERS, "statefulset-controller")
    with (
        cluster.start(binaries, nodes=NODES, controllers=controllers) as control_plane,
        running(operator, control_plane) as process,
    ):
        yield Operated(control_plane, process, operator.user, api, plural)


def template(
    *, cpu: str = "1", gpu: int = 0, container: str = "main", annotations: Mapping[str, str] | None = None, **spec: Any
) -> Object:
    """A pod template of one container; its pods run until they are deleted, unless an annotation says otherwise."""
    resources = {"cpu": cpu} | ({GPU: str(gpu)} if gpu else {})
    main = {"name": container, "image": "none", "resources": {"requests": resources, "limits": resources}}
    return {"metadata": {"annotations": dict(annotations or {})}, "spec": {"containers": [main], **spec}}


def ends_after(seconds: int) -> dict[str, str]:
    """The annotation by which a pod's work takes so long."""
    return {"demo.quotree.dev/run-for": f"{seconds}s"}


def named(name: str, namespace: str, labels: Labels = None) -> Object:
    """The metadata of an object as a user would write it."""
    return {"name": name, "namespace": namespace, "labels": dict(labels or {})}
