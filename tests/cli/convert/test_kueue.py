"""Kueue's objects become groups that admit what Kueue admits, and what differs is noted."""

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.quota.model.tree import Group
from tests.cli.convert.converting import Converted
from tests.repository import ROOT

EXAMPLE = (ROOT / "docs/guides/kueue-example.yaml").read_text()
KUEUE = "kueue.x-k8s.io/v1beta2"
COMPLETE = {"preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}}


def kueue(kind: str, name: str, spec: dict[str, Any], version: str = KUEUE, **metadata: Any) -> str:
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}
    return f"---\n{yaml.safe_dump(body)}"


def quotas(flavor: str = "a100", **resources: Any) -> list[dict[str, Any]]:
    """One resource group of one flavor; a resource is its nominalQuota, or a mapping of the limits."""
    written = [
        {"name": name, **(limits if isinstance(limits, dict) else {"nominalQuota": limits})}
        for name, limits in resources.items()
    ]
    return [{"coveredResources": list(resources), "flavors": [{"name": flavor, "resources": written}]}]


def queue(name: str, cohort: str = "labs", version: str = KUEUE, **spec: Any) -> str:
    named = {} if not cohort else {"cohort" if version.endswith("v1beta1") else "cohortName": cohort}
    defaults = {"namespaceSelector": {}, "resourceGroups": quotas(cpu=10), **COMPLETE}
    return kueue("ClusterQueue", name, {**defaults, **named, **spec}, version)


def local_queue(namespace: str, cluster_queue: str, name: str = "main") -> str:
    return kueue("LocalQueue", name, {"clusterQueue": cluster_queue}, namespace=namespace)


def test_example_of_the_guide_is_legal_and_complete(tmp_path: Path) -> None:
    made = Converted(tmp_path, EXAMPLE)
    assert made.check(tmp_path)[0] == 0
    assert made.spec("labs")["quotas"] == [
        {
            "flavor": "a100",
            "min": {"cpu": "60", "nvidia.com/gpu": "12"},
            "borrowingLimit": {"cpu": "0", "nvidia.com/gpu": "0"},
        }
    ]
    assert made.spec("inference") == {
        "parent": "labs",
        "quotas": [
            {
                "flavor": "a100",
                "min": {"cpu": "20", "nvidia.com/gpu": "4"},
                "borrowingLimit": {"nvidia.com/gpu": "2"},
            }
        ],
        "queueing": {"strategy": "StrictFIFO"},
        "namespaceSelector": {
            "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["team-inference"]}]
        },
    }
    assert [(each["metadata"]["name"], each["metadata"]["labels"]) for each in made.of_kind("Namespace")] == [
        ("team-training", {"quotree.dev/group": "training"}),
        ("team-inference", {"quotree.dev/group": "inference"}),
    ]
    assert made.notes == [
        "manifests.yaml:30: ClusterQueue/inference spec.admissionChecksStrategy: has no counterpart and is left out"
    ]


@pytest.mark.parametrize("version", ["kueue.x-k8s.io/v1beta1", KUEUE])
def test_cohort_is_named_alike_in_both_versions(tmp_path: Path, version: str) -> None:
    made = Converted(tmp_path, queue("vision", "labs", version))
    assert made.spec("vision")["parent"] == "labs"
    assert made.spec("labs")["isParent"] is True


def test_quota_of_a_cohort_stands_beside_that_of_its_children(tmp_path: Path) -> None:
    cohorts = kueue("Cohort", "labs", {"parentName": "all", "resourceGroups": quotas(cpu=4)})
    made = Converted(tmp_path, cohorts + queue("a") + queue("b", resourceGroups=quotas(cpu=6, memory="1Gi")))
    assert made.spec("labs")["quotas"] == [{"flavor": "a100", "min": {"cpu": "20", "memory": "1Gi"}}]
    assert made.spec("all")["quotas"][0]["min"] == {"cpu": "20", "memory": "1Gi"}
    assert made.spec("labs")["parent"] == "all"


def test_queue_without_a_cohort_neither_borrows_nor_has_a_parent(tmp_path: Path) -> None:
    spec = Converted(tmp_path, queue("alone", "")).spec("alone")
    assert (spec.get("parent"), spec["quotas"][0]["borrowingLimit"]) == (None, {"cpu": "0"})


def test_queue_and_cohort_of_one_name_get_two_groups(tmp_path: Path) -> None:
    queues = local_queue("one", "labs") + local_queue("one", "default", "other")
    made = Converted(tmp_path, queue("labs", "labs") + queue("default", "labs") + queues)
    assert sorted(each.name for each in made.groups()) == ["default-queue", "labs", "labs-cohort"]
    assert made.spec("labs")["parent"] == "labs-cohort"
    assert [note.split("metadata.name: ")[1] for note in made.notes] == [
        "the group of default is called default-queue: that name is taken",
        "the group of labs is called labs-cohort: that name is taken",
    ]


def test_weights_are_whole_numbers_for_every_sibling_and_resource(tmp_path: Path) -> None:
    shares = {"a": {"weight": "0.5"}, "b": {"weight": 2}}
    text = "".join(queue(name, resourceGroups=quotas(cpu=1, gpu=1), fairSharing=each) for name, each in shares.items())
    made = Converted(tmp_path, text + queue("c") + queue("other", "elsewhere"))
    assert {name: made.spec(name)["quotas"][0].get("weight") for name in ("a", "b", "c", "other")} == {
        "a": {"cpu": "1", "gpu": "1"},
        "b": {"cpu": "4", "gpu": "4"},
        "c": {"cpu": "2"},
        "other": None,
    }


def test_order_of_flavors_and_fungibility_are_kept(tmp_path: Path) -> None:
    flavors = [{"name": name, "resources": [{"name": "cpu", "nominalQuota": 1}]} for name in ("spot", "reserved")]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    tries = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch"}
    made = Converted(
        tmp_path, queue("a", resourceGroups=groups, flavorFungibility=tries) + queue("b", resourceGroups=groups)
    )
    assert [entry["flavor"] for entry in made.spec("a")["quotas"]] == ["spot", "reserved"]
    assert made.spec("a")["flavorFungibility"] == {"whenCanBorrow": "TryNextFlavor", "whenCanReclaim": "Reclaim"}
    assert made.spec("b")["flavorFungibility"] == {"whenCanBorrow": "Borrow", "whenCanReclaim": "TryNextFlavor"}


def test_namespaces_have_a_local_queue_and_match_the_selector(tmp_path: Path) -> None:
    text = queue("vision", namespaceSelector={"matchLabels": {"team": "vision"}}) + queue("nlp")
    made = Converted(tmp_path, text + local_queue("one", "vision") + local_queue("two", "vision"))
    assert made.spec("vision")["namespaceSelector"] == {
        "matchLabels": {"team": "vision"},
        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["one", "two"]}],
    }
    assert made.spec("nlp")["namespaceSelector"] == {}
    assert made.of_kind("Namespace") == []
    assert "decides alone: no LocalQueue of this queue is in the files" in made.notes[0]


def test_absent_namespace_selector_admits_no_namespace(tmp_path: Path) -> None:
    made = Converted(tmp_path, kueue("ClusterQueue", "closed", {"resourceGroups": quotas(cpu=1), **COMPLETE}))
    (group,) = made.groups()
    assert group.namespace_selector is not None
    assert not group.namespace_selector.matches({"kubernetes.io/metadata.name": "team"})


def test_workloads_get_the_label_of_their_group_and_the_priority_class(tmp_path: Path) -> None:
    labels = {"kueue.x-k8s.io/queue-name": "main", "kueue.x-k8s.io/priority-class": "urgent", "app": "train"}
    pods = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "one", "labels": labels, "uid": "1", "resourceVersion": "7"},
        "spec": {"template": {"spec": pods}},
        "status": {"active": 1},
    }
    urgent = (
        "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {name: urgent}\nvalue: 7\n"
    )
    made = Converted(tmp_path, queue("vision") + local_queue("one", "vision") + urgent + f"---\n{yaml.safe_dump(job)}")
    (written,) = made.of_kind("Job")
    assert written["metadata"] == {
        "name": "train",
        "namespace": "one",
        "labels": {"app": "train", "quotree.dev/group": "vision"},
    }
    assert (written["spec"]["template"]["spec"]["priorityClassName"], "status" in written) == ("urgent", False)
    assert [(each["value"], each["preemptionPolicy"]) for each in made.of_kind("PriorityClass")] == [(7, "Never")]
    assert made.notes == []


def test_pods_of_a_group_keep_their_group_and_its_size(tmp_path: Path) -> None:
    pod = """---
apiVersion: v1
kind: Pod
metadata:
  name: first
  namespace: one
  labels: {kueue.x-k8s.io/queue-name: main, kueue.x-k8s.io/pod-group-name: ring}
  annotations: {kueue.x-k8s.io/pod-group-total-count: "2"}
spec: {containers: [{name: main, image: none}]}
"""
    made = Converted(tmp_path, queue("vision") + local_queue("one", "vision") + pod)
    assert made.of_kind("Pod")[0]["metadata"] == {
        "name": "first",
        "namespace": "one",
        "labels": {
            "quotree.dev/group": "vision",
            "quotree.dev/pod-group": "ring",
            "quotree.dev/pod-group-size": "2",
        },
    }


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        (
            {"preemption": {"withinClusterQueue": "LowerPriority"}},
            "spec.preemption.reclaimWithinCohort: is Never: Quotree always gives min back, whatever the priorities",
        ),
        (
            {"preemption": {**COMPLETE["preemption"], "borrowWithinCohort": {"policy": "LowerPriority"}}},
            (
                "spec.preemption.borrowWithinCohort: has no counterpart: "
                "a workload that borrows evicts nothing in other groups"
            ),
        ),
        (
            {"preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerOrNewerEqualPriority"}},
            "spec.preemption.withinClusterQueue: becomes LowerPriority: equal priority is not preempted",
        ),
        (
            {"resourceGroups": quotas(cpu=1, pods=5)},
            "spec.resourceGroups[0].flavors[0]: pods are not counted; keep a ResourceQuota for them",
        ),
        ({"admissionScope": {}}, "spec.admissionScope: has no counterpart and is left out"),
    ],
)
def test_differences_are_noted(tmp_path: Path, spec: dict[str, Any], note: str) -> None:
    made = Converted(tmp_path, queue("vision", **spec) + local_queue("one", "vision"), "--strict")
    assert (made.exit_code, [each.partition("vision ")[2] for each in made.notes]) == (1, [note])


def test_queue_that_preempts_nothing_of_its_own_keeps_that(tmp_path: Path) -> None:
    made = Converted(tmp_path, queue("vision", preemption={"reclaimWithinCohort": "Any"}))
    assert made.spec("vision")["preemption"] == {"withinGroup": "Never"}


@pytest.mark.parametrize("seed", range(60))
def test_room_of_every_queue_equals_that_of_kueue(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    nodes = draw_tree(rng)
    made = Converted(tmp_path, "".join(written(name, node) for name, node in nodes.items()))
    groups = {group.name: group for group in made.groups()}
    used = dict.fromkeys(nodes, 0)
    for name in rng.choices([name for name, node in nodes.items() if node["leaf"]], k=6):
        used[name] += rng.randint(0, max(0, Kueue(nodes, used).available(name)))
    for name, node in nodes.items():
        if node["leaf"]:
            assert room(groups, used, name) == max(0, Kueue(nodes, used).available(name)), (name, nodes, used)


def draw_tree(rng: random.Random) -> dict[str, dict[str, Any]]:
    """Cohorts at most four deep, with queues anywhere below them."""
    nodes: dict[str, dict[str, Any]] = {}
    for at in range(rng.randint(1, 4)):
        above = rng.choice([None, *nodes])
        nodes[f"c{at}"] = draw_node(rng, above, leaf=False)
    for at in range(rng.randint(1, 5)):
        above = rng.choice([each for each, node in nodes.items() if not node["leaf"]])
        nodes[f"q{at}"] = draw_node(rng, above, leaf=True)
    return nodes


def draw_node(rng: random.Random, parent: str | None, *, leaf: bool) -> dict[str, Any]:
    nominal = rng.randint(0, 8)
    limits = {
        "borrowingLimit": rng.choice([None, rng.randint(0, 6)]) if parent else None,
        "lendingLimit": rng.choice([None, rng.randint(0, nominal if leaf else 8)]) if parent else None,
    }
    return {"parent": parent, "leaf": leaf, "nominalQuota": nominal} | limits


def written(name: str, node: dict[str, Any]) -> str:
    limits = {key: node[key] for key in ("nominalQuota", "borrowingLimit", "lendingLimit") if node[key] is not None}
    if node["leaf"]:
        return queue(name, node["parent"], resourceGroups=quotas(gpu=limits))
    parent = {"parentName": node["parent"]} if node["parent"] else {}
    return kueue("Cohort", name, {**parent, "resourceGroups": quotas(gpu=limits)})


class Kueue:
    """How much a queue may still admit, as Kueue computes it in its tree of resource nodes."""

    def __init__(self, nodes: dict[str, dict[str, Any]], used: dict[str, int]) -> None:
        self._nodes = nodes
        self._used = used

    def available(self, name: str) -> int:
        node, subtree, kept, use = self._nodes[name], self.subtree(name), self.guaranteed(name), self.usage(name)
        if node["parent"] is None:
            return subtree - use
        above = self.available(node["parent"])
        if node["borrowingLimit"] is not None:
            above = min(above, subtree - kept - max(0, use - kept) + int(node["borrowingLimit"]))
        return max(0, kept - use) + above

    def subtree(self, name: str) -> int:
        lent = sum(self.subtree(child) - self.guaranteed(child) for child in self.children(name))
        return int(self._nodes[name]["nominalQuota"]) + lent

    def guaranteed(self, name: str) -> int:
        limit = self._nodes[name]["lendingLimit"]
        return 0 if limit is None else max(0, self.subtree(name) - int(limit))

    def usage(self, name: str) -> int:
        below = sum(max(0, self.usage(child) - self.guaranteed(child)) for child in self.children(name))
        return self._used[name] + below

    def children(self, name: str) -> list[str]:
        return [child for child, node in self._nodes.items() if node["parent"] == name]


def room(groups: dict[str, Group], used: dict[str, int], leaf: str) -> int:
    """How much more the leaf may use until a ceiling on its path is reached (docs/specification.md, charge)."""

    def limit(name: str, field: str) -> int | None:
        return next((getattr(entry, field).get("gpu") for entry in groups[name].quotas), None)

    def guarantee(name: str) -> int:
        lent = limit(name, "lending_limit")
        return 0 if lent is None else max(0, (limit(name, "min") or 0) - lent)

    def charge(name: str, used: dict[str, int]) -> int:
        below = [child for child, group in groups.items() if group.parent == name]
        return used[name] + sum(max(guarantee(child), charge(child, used)) for child in below)

    def fits(more: int) -> bool:
        after = {**used, leaf: used[leaf] + more}
        at: str | None = leaf
        while at in groups:
            borrowed = limit(at, "borrowing_limit")
            if borrowed is not None and charge(at, after) > (limit(at, "min") or 0) + borrowed:
                return False
            at = groups[at].parent
        return True

    return next((more - 1 for more in range(1, 200) if not fits(more)), 200)
