"""Kueue's objects become groups that admit what Kueue admits, and what differs is noted."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.convert.converting import Converted
from tests.cli.convert.kueue.manifests import COMPLETE, KUEUE, kueue, local_queue, queue, quotas
from tests.project.repository import ROOT

EXAMPLE = (ROOT / "docs/guides/kueue-example.yaml").read_text()


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
        (
            "manifests.yaml:30: ClusterQueue/inference spec.admissionChecksStrategy: capacity: let a webhook of yours "
            'label the workloads of inference hold.quotree.dev/capacity: "true" at creation, and the check take the '
            "label off; quota.gates says who else may"
        )
    ]


@pytest.mark.parametrize(
    ("controller", "flavors", "expected"),
    [
        ("example.com/scanner", [], "the check take the label off; quota.gates says who else may"),
        ("example.com/scanner", ["a100", "t4"], "who else may. It holds on every flavor, not on a100, t4 alone"),
        ("kueue.x-k8s.io/multikueue", [], "scan is left out: kueue.x-k8s.io/multikueue is a part of Kueue, and"),
    ],
)
def test_admission_check_becomes_a_gate_or_is_named_as_lost(
    tmp_path: Path, controller: str, flavors: list[str], expected: str
) -> None:
    rules = {"admissionChecks": [{"name": "scan", "onFlavors": flavors}]}
    check = kueue("AdmissionCheck", "scan", {"controllerName": controller})
    made = Converted(tmp_path, check + queue("vision", admissionChecksStrategy=rules) + local_queue("web", "vision"))
    (note,) = made.notes
    assert expected in note


def test_admission_check_that_no_queue_names_is_named_as_lost(tmp_path: Path) -> None:
    checks = "".join(kueue("AdmissionCheck", name, {"controllerName": "example.com/any"}) for name in ("used", "spare"))
    made = Converted(tmp_path, checks + queue("vision", admissionChecks=["used"]) + local_queue("web", "vision"))
    assert [note.split(": ", 1)[1] for note in made.notes if "spare" in note] == [
        "AdmissionCheck/spare: is left out: no ClusterQueue in the files names it"
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
    text = "".join(
        queue(name, resourceGroups=quotas(cpu=1, memory=1), fairSharing=each) for name, each in shares.items()
    )
    made = Converted(tmp_path, text + queue("c") + queue("other", "elsewhere"))
    assert {name: made.spec(name)["quotas"][0].get("weight") for name in ("a", "b", "c", "other")} == {
        "a": {"cpu": "1", "memory": "1"},
        "b": {"cpu": "4", "memory": "4"},
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


def test_workloads_get_the_labels_of_their_group_and_priority(tmp_path: Path) -> None:
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
        "labels": {"app": "train", "quotree.dev/group": "vision", "quotree.dev/priority": "urgent"},
    }
    assert ("priorityClassName" in written["spec"]["template"]["spec"], "status" in written) == (False, False)
    assert [each.partition(": ")[2] for each in made.notes] == [
        (
            "WorkloadPriorityClass/urgent value: set workloadPriorities: [{name: urgent, value: 7}] below `quota` in "
            "the chart's values; until then the label quotree.dev/priority is refused"
        )
    ]


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
            {
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "spot"}, {"name": "reserved"}]}],
                "flavorFungibility": {"preference": "PreemptionOverBorrowing"},
            },
            (
                "spec.flavorFungibility.preference: has no counterpart: "
                "a flavor in which a workload starts by borrowing comes before one in which it evicts"
            ),
        ),
        ({"concurrentAdmission": {}}, "spec.concurrentAdmission: has no counterpart and is left out"),
    ],
)
def test_differences_are_noted(tmp_path: Path, spec: dict[str, Any], note: str) -> None:
    made = Converted(tmp_path, queue("vision", **spec) + local_queue("one", "vision"), "--strict")
    assert (made.exit_code, [each.partition("vision ")[2] for each in made.notes]) == (1, [note])


def test_pods_of_all_flavors_are_counted_together(tmp_path: Path) -> None:
    (spot,), (reserved,) = (quotas(flavor, cpu=4, pods=5)[0]["flavors"] for flavor in ("spot", "reserved"))
    both = [{"coveredResources": ["cpu", "pods"], "flavors": [spot, reserved]}]
    flavors = kueue("ResourceFlavor", "spot", {"nodeLabels": {"a": "b"}}) + kueue(
        "ResourceFlavor", "reserved", {"nodeLabels": {"a": "c"}}
    )
    made = Converted(tmp_path, flavors + queue("vision", resourceGroups=both))
    assert made.spec("vision")["quotas"] == [
        {"flavor": "spot", "min": {"cpu": "4"}},
        {"flavor": "reserved", "min": {"cpu": "4"}},
        {"min": {"pods": "10"}},
    ]
    assert made.check(tmp_path)[0] == 0


def test_queue_that_preempts_nothing_of_its_own_keeps_that(tmp_path: Path) -> None:
    made = Converted(tmp_path, queue("vision", preemption={"reclaimWithinCohort": "Any"}))
    assert made.spec("vision")["preemption"] == {"withinGroup": "Never"}


def test_admission_fair_sharing_becomes_the_order_by_namespace(tmp_path: Path) -> None:
    scope: dict[str, Any] = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}

    def weighted(namespace: str, weight: float | str, name: str = "main", cluster_queue: str = "vision") -> str:
        spec = {"clusterQueue": cluster_queue, "fairSharing": {"weight": weight}}
        return kueue("LocalQueue", name, spec, namespace=namespace)

    queues = queue("vision", queueingStrategy="StrictFIFO", **scope) + queue("nlp")
    locals_ = weighted("a", 2) + weighted("b", "500m") + weighted("b", 3, "second") + local_queue("c", "vision")
    made = Converted(tmp_path, queues + locals_ + weighted("a", 7, "third", "nlp"))
    assert made.spec("vision")["queueing"] == {
        "strategy": "StrictFIFO",
        "order": "Namespace",
        "weights": {"a": "2", "b": "500m"},
    }
    assert "queueing" not in made.spec("nlp")
    assert [each.partition("fairSharing.weight: ")[2] for each in made.notes if "weight" in each] == [
        "3 is left out: namespace b has weight 500m by another LocalQueue"
    ]
    assert made.check(tmp_path)[0] == 0
