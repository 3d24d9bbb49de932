"""What pods occupy beside managed work is counted step by step; on random histories it equals the whole recount."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import msgspec
import pytest

from shared.api.core.job import Job, read_job
from shared.api.core.namespace import Namespace, read_namespace
from shared.api.names import GROUP_LABEL, POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import FinishedOwner, PodRecord, project_pod
from shared.kube.watch.cache import Changed
from shared.quota.measure.static.capacity import FlavorMatcher, capacity_of_nodes, with_default_flavor
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import QuotaSettings
from shared.resources import FlavorResource
from tests.builders import NOW, after
from tests.reconciler.reconciler_process import job_manifest

NAMESPACES = ("team", "other", "kube-system")
NODES = ("n0", "n1", "n2")
JOBS = ("j0", "j1", "j2", "j3")
GRACE = QuotaSettings().node_grace_period
PODS = FlavorResource("counts", "pods")
FLAVORS = (Flavor("fast", node_labels={"speed": "fast"}), Flavor("big", node_labels={"size": "big"}))


class History:
    """The state, and beside it every object as it is now."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = NOW
        self.state = ClusterState(QuotaSettings())
        self.nodes: dict[str, ClusterNode] = {}
        self.flavors: dict[str, Flavor] = {}
        self.namespaces: dict[str, Namespace] = {}
        self.jobs: dict[str, Job | FinishedOwner] = {}
        self.pods: dict[str, PodRecord] = {}

    def step(self) -> None:
        """Something appears, changes or goes."""
        self.random.choice(
            (self.a_pod, self.a_pod, self.a_pod, self.a_job, self.a_node, self.a_namespace, self.a_flavor)
        )()

    def a_node(self) -> None:
        name = self.random.choice(NODES)
        labels = {key: value for key, value in (("speed", "fast"), ("size", "big")) if self.random.random() < 0.5}
        closed = self.random.random() < 0.4
        since = (
            self.now - timedelta(seconds=self.random.randint(0, 900)) if closed and self.random.random() < 0.5 else None
        )
        node = ClusterNode(name, labels, {"cpu": 8000}, not closed, since)
        before = self.nodes.pop(name, None)
        after = node if before is None or self.random.random() < 0.7 else None
        if after is not None:
            self.nodes[name] = after
        self.state.observe_nodes([Changed(before, after)])

    def a_flavor(self) -> None:
        flavor = self.random.choice(FLAVORS)
        before = self.flavors.pop(flavor.name, None)
        if before is None:
            self.flavors[flavor.name] = flavor
        self.state.observe_flavors([Changed(before, None if before else flavor)])

    def a_namespace(self) -> None:
        name = self.random.choice(NAMESPACES)
        labels = self.random.choice(({}, {GROUP_LABEL: "vision"}, {GROUP_LABEL: "system"}))
        before = self.namespaces.get(name)
        after = read_namespace({"metadata": {"name": name, "uid": name, "labels": labels}})
        self.namespaces[name] = after
        self.state.observe_namespaces([Changed(before, after)])

    def a_job(self) -> None:
        uid = self.random.choice(JOBS)
        before = self.jobs.pop(uid, None)
        after: Job | FinishedOwner | None = None
        if before is None or self.random.random() < 0.5:
            manifest = job_manifest(uid, self.random.choice(("vision", None)), suspend=self.random.random() < 0.5)
            manifest["metadata"] |= {"uid": uid, "namespace": "team", "generation": 1}
            after = read_job(manifest)
        elif isinstance(before, Job):
            after = FinishedOwner(uid)
        if after is not None:
            self.jobs[uid] = after
        self.state.observe_jobs([Changed(before, after)])

    def a_pod(self) -> None:
        uid = f"p{self.random.randrange(12)}"
        before = self.pods.pop(uid, None)
        after = None if before is not None and self.random.random() < 0.4 else project_pod(self.pod(uid))
        if after is not None:
            self.pods[uid] = after
        self.state.observe_pods([Changed(before, after)])

    def pod(self, uid: str) -> bytes:
        """A pod of a Job, of a pod group, or of neither."""
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
        matcher = FlavorMatcher(with_default_flavor(self.flavors))
        system: dict[FlavorResource, int] = {}
        others: dict[FlavorResource, int] = {}
        for using in (each.using for each in self.pods.values() if each.using is not None):
            node = self.nodes.get(using.node)
            counts = node is not None and node.counts_use(self.now, GRACE)
            flavor = matcher.flavor_of(node.labels) if node is not None and counts else None
            if flavor is None or self.state.work.owners.knows(using.job or using.key):
                continue
            namespace = self.namespaces.get(using.namespace)
            named = {using.group, namespace.metadata.labels.get(GROUP_LABEL) if namespace else None}
            total = system if "system" in named or using.namespace == "kube-system" else others
            for key, amount in ((FlavorResource(flavor, "cpu"), using.request.get("cpu", 0)), (PODS, 1)):
                total[key] = total.get(key, 0) + amount
        return {key: each for key, each in system.items() if each}, {key: each for key, each in others.items() if each}

    def on_closed_nodes(self) -> dict[tuple[str, str], dict[FlavorResource, int]]:
        """(workload, or "" for pods of none; node) → what pods use there while it takes none, from the beginning."""
        matcher, counts = FlavorMatcher(with_default_flavor(self.flavors)), self.state.work.owners.accounts_for
        found: dict[tuple[str, str], dict[FlavorResource, int]] = {}
        for pod in (each.using for each in self.pods.values() if each.using is not None):
            node = self.nodes.get(pod.node)
            if node is None or node.takes_pods or not node.counts_use(self.now, GRACE):
                continue
            flavor = matcher.flavor_of(node.labels)
            account = next((each for each in (pod.uid, pod.job or pod.key) if counts(each)), "")
            if flavor is not None:
                use = found.setdefault((account, node.name), {})
                for key, amount in ((FlavorResource(flavor, "cpu"), pod.request.get("cpu", 0)), (PODS, 1)):
                    use[key] = use.get(key, 0) + amount
        return {place: {key: amount for key, amount in use.items() if amount} for place, use in found.items()}

    def kept(self) -> dict[str, dict[FlavorResource, int]]:
        """Workload, or "" for pods of none -> what of that is of it."""
        total: dict[str, Counter[FlavorResource]] = {}
        for (whose, _), use in self.on_closed_nodes().items():
            total.setdefault(whose, Counter()).update(use)
        return {whose: dict(use) for whose, use in total.items()}


@pytest.mark.parametrize("seed", range(40))
def test_incremental_node_usage_equals_a_recount(seed: int) -> None:
    history = History(seed)
    for _ in range(150):
        for _ in range(history.random.randint(1, 4)):
            history.step()
        history.now += timedelta(seconds=history.random.choice((0, 1, 60, 300)))
        world = history.state.world_at(history.now)
        assert (world.system, world.unmanaged) == history.recounted()
        kept, expected = capacity_of_nodes(world.nodes, history.flavors, lambda node: node.kept), history.kept()
        assert {key: amount for key, amount in kept.items() if amount} == expected.get("", {})
        for account in {*JOBS, *history.pods}:
            on_closed = history.state.objects.use.on_closed_nodes(account)
            assert {key: amount for key, amount in on_closed.items() if amount} == expected.get(account, {})


def test_unchanged_node_usage_is_the_same_object_and_needs_no_cycle() -> None:
    history = History(1)
    while not history.state.world().unmanaged:
        history.step()
    before = history.state.world()
    manifest = job_manifest("mine", "vision", suspend=False)
    manifest["metadata"] |= {"uid": "mine", "namespace": "team", "generation": 1}
    history.state.observe_jobs([Changed(None, read_job(manifest))])
    assert history.state.world().unmanaged is before.unmanaged
    owner = {"kind": "Job", "apiVersion": "batch/v1", "name": "mine", "uid": "mine", "controller": True}
    pod = {
        "metadata": {"uid": "pod", "name": "pod", "namespace": "team", "ownerReferences": [owner]},
        "spec": {"nodeName": "n0", "containers": [{"resources": {"requests": {"cpu": "1"}}}]},
    }
    history.state.observe_pods([Changed(None, project_pod(msgspec.json.encode(pod)))])
    assert not history.state.changed


def test_cordoned_node_keeps_its_usage_and_an_unready_node_loses_it_after_the_grace_period() -> None:
    state = ClusterState(QuotaSettings())
    ready = ClusterNode("n0", {}, {"cpu": 8000})
    cordoned = replace(ready, takes_pods=False)
    lost = replace(cordoned, not_ready_since=after(1000))
    pods = [("mine", "team", "2"), ("agent", "kube-system", "1")]
    state.observe_nodes([Changed(None, ready)])
    for name, namespace, cpu in pods:
        spec = {"nodeName": "n0", "containers": [{"resources": {"requests": {"cpu": cpu}}}]}
        manifest = {"metadata": {"uid": name, "name": name, "namespace": namespace}, "spec": spec}
        state.observe_pods([Changed(None, project_pod(msgspec.json.encode(manifest)))])
    key = FlavorResource("default", "cpu")

    def seen(seconds: int) -> tuple[int, int, int]:
        world = state.world_at(after(seconds))
        offered = sum(node.offer.get("cpu", 0) for node in world.nodes)
        return offered, world.unmanaged.get(key, 0), world.system.get(key, 0)

    assert seen(0) == (8000, 2000, 1000)
    state.observe_nodes([Changed(ready, cordoned)])
    assert seen(1) == (3000, 2000, 1000)
    assert seen(1000) == (3000, 2000, 1000)
    state.observe_nodes([Changed(cordoned, lost)])
    assert (seen(1299), state.next_change) == ((3000, 2000, 1000), after(1300))
    assert seen(1300) == (0, 0, 0)
    assert state.next_change is None
    state.observe_nodes([Changed(lost, ready)])
    assert seen(1301) == (8000, 2000, 1000)
