"""What pods occupy beside managed work is counted step by step; on random histories it equals the whole recount."""

from random import Random
from typing import Any

import msgspec
import pytest

from reconciler.state.cluster_state import ClusterState
from reconciler.state.observed.projections import FinishedJob, PodRecord, project_pod
from shared.api.core.job import Job, read_job
from shared.api.core.namespace import Namespace, read_namespace
from shared.api.names import GROUP_LABEL, POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL
from shared.kube.watch.cache import Changed
from shared.quota.measure.static.capacity import FlavorMatcher, known_flavors
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import QuotaSettings
from shared.resources import FlavorResource
from tests.reconciler.reconciler_process import job_manifest

NAMESPACES = ("team", "other", "kube-system")
NODES = ("n0", "n1", "n2")
JOBS = ("j0", "j1", "j2", "j3")
FLAVORS = (Flavor("fast", node_labels={"speed": "fast"}), Flavor("big", node_labels={"size": "big"}))


class History:
    """The state, and beside it every object as it is now."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.state = ClusterState(QuotaSettings())
        self.nodes: dict[str, ClusterNode] = {}
        self.flavors: dict[str, Flavor] = {}
        self.namespaces: dict[str, Namespace] = {}
        self.jobs: dict[str, Job | FinishedJob] = {}
        self.pods: dict[str, PodRecord] = {}

    def step(self) -> None:
        """Something appears, changes or goes."""
        self.random.choice(
            (self.a_pod, self.a_pod, self.a_pod, self.a_job, self.a_node, self.a_namespace, self.a_flavor)
        )()

    def a_node(self) -> None:
        name = self.random.choice(NODES)
        labels = {key: value for key, value in (("speed", "fast"), ("size", "big")) if self.random.random() < 0.5}
        node = ClusterNode(name, labels, {"cpu": 8000}, self.random.random() < 0.8)
        before = self.nodes.pop(name, None)
        after = node if before is None or self.random.random() < 0.7 else None
        if after is not None:
            self.nodes[name] = after
        self.state.see_nodes([Changed(before, after)])

    def a_flavor(self) -> None:
        flavor = self.random.choice(FLAVORS)
        before = self.flavors.pop(flavor.name, None)
        if before is None:
            self.flavors[flavor.name] = flavor
        self.state.see_flavors([Changed(before, None if before else flavor)])

    def a_namespace(self) -> None:
        name = self.random.choice(NAMESPACES)
        labels = self.random.choice(({}, {GROUP_LABEL: "vision"}, {GROUP_LABEL: "system"}))
        before = self.namespaces.get(name)
        after = read_namespace({"metadata": {"name": name, "uid": name, "labels": labels}})
        self.namespaces[name] = after
        self.state.see_namespaces([Changed(before, after)])

    def a_job(self) -> None:
        uid = self.random.choice(JOBS)
        before = self.jobs.pop(uid, None)
        after: Job | FinishedJob | None = None
        if before is None or self.random.random() < 0.5:
            manifest = job_manifest(uid, self.random.choice(("vision", None)), suspend=self.random.random() < 0.5)
            manifest["metadata"] |= {"uid": uid, "namespace": "team", "generation": 1}
            after = read_job(manifest)
        elif isinstance(before, Job):
            after = FinishedJob(uid)
        if after is not None:
            self.jobs[uid] = after
        self.state.see_jobs([Changed(before, after)])

    def a_pod(self) -> None:
        uid = f"p{self.random.randrange(12)}"
        before = self.pods.pop(uid, None)
        after = None if before is not None and self.random.random() < 0.4 else project_pod(self.pod(uid))
        if after is not None:
            self.pods[uid] = after
        self.state.see_pods([Changed(before, after)])

    def pod(self, uid: str) -> bytes:
        """It belongs to a Job, to a group of pods, or to nobody."""
        metadata: dict[str, Any] = {"uid": uid, "name": uid, "namespace": self.random.choice(NAMESPACES), "labels": {}}
        kind = self.random.randrange(4)
        if kind < 2:
            owner = {"kind": "Job", "apiVersion": "batch/v1", "name": "j", "controller": True}
            metadata["ownerReferences"] = [{**owner, "uid": self.random.choice(JOBS)}]
        elif kind == 2:
            metadata["labels"] = {POD_GROUP_LABEL: "gang", POD_GROUP_SIZE_LABEL: "2"}
        if self.random.random() < 0.4:
            metadata["labels"][GROUP_LABEL] = self.random.choice(("vision", "system"))
        requests = {"cpu": str(self.random.randint(0, 3))}
        spec = {"nodeName": self.random.choice((*NODES, "")), "containers": [{"resources": {"requests": requests}}]}
        status = {"phase": self.random.choice(("Running", "Running", "Succeeded"))}
        return msgspec.json.encode({"metadata": metadata, "spec": spec, "status": status})

    def recounted(self) -> tuple[dict[FlavorResource, int], dict[FlavorResource, int]]:
        """Everything from the beginning: of `system`, and of all others."""
        matcher = FlavorMatcher(known_flavors(self.flavors))
        system: dict[FlavorResource, int] = {}
        others: dict[FlavorResource, int] = {}
        for using in (each.using for each in self.pods.values() if each.using is not None):
            node = self.nodes.get(using.node)
            flavor = matcher.flavor_of(node.labels) if node is not None and node.takes_pods else None
            if flavor is None or self.state.work.knows(using.job or using.key):
                continue
            namespace = self.namespaces.get(using.namespace)
            named = {using.group, namespace.metadata.labels.get(GROUP_LABEL) if namespace else None}
            total = system if "system" in named or using.namespace == "kube-system" else others
            key = FlavorResource(flavor, "cpu")
            total[key] = total.get(key, 0) + using.request.get("cpu", 0)
        return {key: each for key, each in system.items() if each}, {key: each for key, each in others.items() if each}


@pytest.mark.parametrize("seed", range(40))
def test_the_count_kept_up_equals_the_recount(seed: int) -> None:
    history = History(seed)
    for _ in range(150):
        for _ in range(history.random.randint(1, 4)):
            history.step()
        world = history.state.world()
        assert (world.system, world.unmanaged) == history.recounted()


def test_what_has_not_changed_is_the_same_object_and_needs_no_cycle() -> None:
    history = History(1)
    while not history.state.world().unmanaged:
        history.step()
    before = history.state.world()
    manifest = job_manifest("mine", "vision", suspend=False)
    manifest["metadata"] |= {"uid": "mine", "namespace": "team", "generation": 1}
    history.state.see_jobs([Changed(None, read_job(manifest))])
    assert history.state.world().unmanaged is before.unmanaged
    owner = {"kind": "Job", "apiVersion": "batch/v1", "name": "mine", "uid": "mine", "controller": True}
    pod = {
        "metadata": {"uid": "pod", "name": "pod", "namespace": "team", "ownerReferences": [owner]},
        "spec": {"nodeName": "n0", "containers": [{"resources": {"requests": {"cpu": "1"}}}]},
    }
    history.state.see_pods([Changed(None, project_pod(msgspec.json.encode(pod)))])
    assert not history.state.changed
