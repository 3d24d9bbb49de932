"""ElasticQuotas, Volcano's Queues and ResourceQuotas become legal groups with the same numbers."""

from pathlib import Path

import pytest

from tests.cli.convert.converting import Converted

KOORDINATOR = """
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata:
  name: research
  namespace: kube-system
  labels:
    quota.scheduling.koordinator.sh/is-parent: "true"
    quota.scheduling.koordinator.sh/parent: koordinator-root-quota
spec: {min: {cpu: 40}, max: {cpu: 80}}
---
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata:
  name: vision
  namespace: kube-system
  labels:
    quota.scheduling.koordinator.sh/parent: research
    quota.scheduling.koordinator.sh/allow-lent-resource: "false"
    quota.scheduling.koordinator.sh/tree-id: gpu
  annotations:
    quota.scheduling.koordinator.sh/shared-weight: '{"cpu": 30}'
    quota.scheduling.koordinator.sh/namespaces: '["team-v"]'
spec: {min: {cpu: 20}, max: {cpu: 40}}
---
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: koordinator-default-quota, namespace: koordinator-system}
spec: {max: {cpu: 4}}
"""
VOLCANO = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: division}
spec: {parent: root, deserved: {cpu: 8}, capability: {cpu: 16}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: training}
spec:
  parent: division
  deserved: {cpu: 6}
  guarantee: {resource: {cpu: 2}}
  capability: {cpu: 10}
  reclaimable: false
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: best-effort}
spec: {parent: division}
"""
QUEUE = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: %s}\nspec: %s\n---\n"
RESOURCE_QUOTA = """
apiVersion: v1
kind: Namespace
metadata: {name: web, labels: {team: web}, uid: "1", resourceVersion: "7"}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: compute, namespace: web}
spec: {hard: {requests.cpu: 4, memory: 8Gi, limits.cpu: 8, pods: 10, requests.storage: 5Gi}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: less, namespace: web}
spec: {hard: {cpu: 3}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: low, namespace: web}
spec: {hard: {cpu: 1}, scopes: [BestEffort]}
"""


def only(namespace: str) -> dict[str, object]:
    return {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]}]}


def test_tree_of_koordinator_keeps_parents_weights_and_namespaces(tmp_path: Path) -> None:
    made = Converted(tmp_path, KOORDINATOR)
    assert made.check(tmp_path)[0] == 0
    assert made.spec("research") == {
        "isParent": True,
        "quotas": [{"min": {"cpu": "40", "memory": "0"}, "max": {"cpu": "80"}}],
    }
    assert made.spec("vision") == {
        "parent": "research",
        "quotas": [{"min": {"cpu": "20", "memory": "0"}, "max": {"cpu": "40"}, "weight": {"cpu": "30"}}],
        "allowLending": False,
        "namespaceSelector": only("team-v"),
    }
    assert [each["metadata"] for each in made.of_kind("Namespace")] == [
        {"name": "team-v", "labels": {"quotree.dev/group": "vision"}}
    ]
    assert [note.split(" ", 1)[1] for note in made.notes] == [
        (
            "ElasticQuota/kube-system/vision metadata.labels[quota.scheduling.koordinator.sh/tree-id]: "
            "has no counterpart and is left out"
        ),
        (
            "ElasticQuota/koordinator-system/koordinator-default-quota: "
            "is built in as default: edit that group, if it needs limits"
        ),
    ]


@pytest.mark.parametrize(
    ("written", "weight"),
    [
        ('\'{"cpu": 30, "memory": "2Gi"}\'', {"cpu": "30", "memory": "2Gi"}),
        ("'{\"cpu\": 30}'", {"cpu": "30", "memory": "0"}),
        ('\'{"cpu": 0, "memory": "0"}\'', None),
        ("'{}'", None),
        ("''", None),
    ],
    ids=["all", "one of two", "all zero", "none", "empty"],
)
def test_weight_of_koordinator_without_a_number_above_zero_is_max(
    tmp_path: Path, written: str, weight: dict[str, str] | None
) -> None:
    key = "quota.scheduling.koordinator.sh/shared-weight"
    made = Converted(
        tmp_path,
        "apiVersion: scheduling.sigs.k8s.io/v1alpha1\nkind: ElasticQuota\n"
        f"metadata: {{name: a, annotations: {{{key}: {written}, quota.scheduling.koordinator.sh/namespaces: ''}}}}\n"
        "spec: {max: {cpu: 40, memory: 8Gi}}\n",
    )
    assert made.check(tmp_path)[0] == 0
    assert made.spec("a")["quotas"][0].get("weight") == weight


def test_elastic_quota_of_scheduler_plugins_is_about_its_namespace(tmp_path: Path) -> None:
    quota = "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\nmetadata: {name: eq, namespace: team}\n"
    made = Converted(tmp_path, f"{quota}spec: {{min: {{cpu: 4}}, max: {{cpu: 6}}}}\n")
    assert made.spec("eq") == {
        "quotas": [{"min": {"cpu": "4", "memory": "0"}, "max": {"cpu": "6"}}],
        "namespaceSelector": only("team"),
    }
    assert made.of_kind("Namespace")[0]["metadata"]["labels"] == {"quotree.dev/group": "eq"}


def test_queues_of_volcano_keep_what_they_never_lend(tmp_path: Path) -> None:
    made = Converted(tmp_path, VOLCANO)
    assert made.check(tmp_path)[0] == 0
    assert made.spec("division") == {
        "isParent": True,
        "quotas": [{"min": {"cpu": "8", "memory": "0"}, "max": {"cpu": "16"}}],
    }
    assert made.spec("training") == {
        "parent": "division",
        "quotas": [{"min": {"cpu": "6", "memory": "0"}, "max": {"cpu": "10"}, "lendingLimit": {"cpu": "4"}}],
    }
    assert made.spec("best-effort")["quotas"] == [{"min": {"cpu": "0", "memory": "0"}}]
    assert [note.split(" ", 2)[2] for note in made.notes] == [
        (
            'spec.reclaimable: label its workloads quotree.dev/preemptible: "false"; '
            "they then start within min of training only"
        ),
    ]


def test_queue_may_use_what_only_its_parent_names(tmp_path: Path) -> None:
    made = Converted(
        tmp_path,
        QUEUE % ("top", "{capability: {cpu: 8, memory: 16Gi}}")
        + QUEUE % ("middle", "{parent: top, capability: {cpu: 4}}")
        + QUEUE % ("leaf", "{parent: middle}")
        + QUEUE % ("alone", "{}"),
    )
    assert made.check(tmp_path)[0] == 0
    assert made.spec("middle")["quotas"] == [{"min": {"memory": "0"}, "max": {"cpu": "4"}}]
    assert made.spec("leaf")["quotas"] == [{"min": {"cpu": "0", "memory": "0"}}]
    assert made.spec("alone")["quotas"] == [{"min": {"cpu": "0", "memory": "0"}}]
    assert made.notes == []


def test_parent_with_only_a_capability_promises_what_its_children_deserve(tmp_path: Path) -> None:
    made = Converted(
        tmp_path,
        QUEUE % ("division", "{capability: {cpu: 16}}")
        + QUEUE % ("a", "{parent: division, deserved: {cpu: 6}}")
        + QUEUE % ("b", "{parent: division, deserved: {cpu: 4}}")
        + QUEUE % ("idle", "{capability: {cpu: 8}}")
        + QUEUE % ("c", "{parent: idle, capability: {cpu: 4}}"),
    )
    assert made.check(tmp_path)[0] == 0
    assert made.spec("division")["quotas"] == [{"min": {"cpu": "10", "memory": "0"}, "max": {"cpu": "16"}}]
    assert made.spec("idle")["quotas"] == [{"min": {"memory": "0"}, "max": {"cpu": "8"}}]


def test_parent_never_promises_more_than_its_capability(tmp_path: Path) -> None:
    children = QUEUE % ("a", "{parent: p, deserved: {cpu: 4}}") + QUEUE % ("b", "{parent: p, deserved: {cpu: 4}}")
    made = Converted(tmp_path, QUEUE % ("p", "{capability: {cpu: 6}}") + children)
    assert "children promise 8 of default/cpu (a 4 + b 4), parent has 6" in made.check(tmp_path)[1]


@pytest.mark.parametrize("state", ["Closed", "Closing"])
def test_closed_queue_becomes_a_closed_group(tmp_path: Path, state: str) -> None:
    made = Converted(
        tmp_path, (QUEUE % ("old", "{capability: {cpu: 4, memory: 8Gi}}")).replace("---", f"status: {{state: {state}}}")
    )
    assert made.spec("old")["stopPolicy"] == "Close"
    assert [note.split(" ", 2)[2] for note in made.notes] == [
        f"status.state: is {state}: the group takes no new workloads, but starts those that wait; or write Hold"
    ]


def test_open_queue_becomes_an_open_group(tmp_path: Path) -> None:
    queue = QUEUE % ("new", "{capability: {cpu: 4, memory: 8Gi}}")
    assert "stopPolicy" not in Converted(tmp_path, queue.replace("---", "status: {state: Open}")).spec("new")


def test_weights_of_volcano_count_where_nothing_is_deserved(tmp_path: Path) -> None:
    spec = "{weight: 3, capability: {cpu: 4}}"
    made = Converted(tmp_path, QUEUE % ("a", spec) + QUEUE % ("b", "{capability: {cpu: 4}}"))
    assert [made.spec(name)["quotas"][0]["weight"] for name in ("a", "b")] == [
        {"memory": "3", "cpu": "3"},
        {"memory": "1", "cpu": "1"},
    ]


def test_resource_quotas_of_a_namespace_become_one_leaf_with_the_lowest_numbers(tmp_path: Path) -> None:
    made = Converted(tmp_path, RESOURCE_QUOTA)
    assert made.check(tmp_path)[0] == 0
    amounts = {"cpu": "3", "memory": "8Gi"}
    quotas = [{"min": amounts, "max": {**amounts, "pods": "10"}}]
    assert made.spec("web") == {"quotas": quotas, "namespaceSelector": only("web")}
    assert made.of_kind("Namespace") == [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "web", "labels": {"team": "web", "quotree.dev/group": "web"}},
        }
    ]
    assert [note.split(" ", 2)[2] for note in made.notes] == [
        "spec.hard[limits.cpu]: is not counted: keep a ResourceQuota for it",
        "spec.hard[requests.storage]: is not counted: keep a ResourceQuota for it",
        "spec.scopes: is about some pods only: write a leaf for them, or keep the ResourceQuota",
    ]


@pytest.mark.parametrize(
    ("manifests", "problem"),
    [
        (
            "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: web}\nspec: {hard: {cpu: lots}}\n",
            "manifests.yaml:4: ResourceQuota/web/q spec.hard[cpu]: cpu 'lots' is not a quantity; write for example",
        ),
        (
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec: {resourceGroups: 1}\n",
            "manifests.yaml:1: ClusterQueue/q cannot be read: Expected `array`, got `int` - at `$.spec.resourceGroups`",
        ),
        (
            KOORDINATOR.replace("'{\"cpu\": 30}'", "much"),
            "metadata.annotations[quota.scheduling.koordinator.sh/shared-weight] cannot be read: ",
        ),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n", "there is nothing to convert in "),
    ],
)
def test_unreadable_objects_are_reported_with_their_place(tmp_path: Path, manifests: str, problem: str) -> None:
    assert problem in str(Converted(tmp_path, manifests).problem)


KUEUE = "kueue.x-k8s.io/v1beta2"
WITH_QUEUE = "{name: a, namespace: web, labels: {kueue.x-k8s.io/queue-name: q}}"


@pytest.mark.parametrize(
    ("api_version", "kind", "metadata", "label"),
    [
        (KUEUE, "ClusterQueue", "{name: a}", "ClusterQueue/a"),
        (KUEUE, "Cohort", "{name: a}", "Cohort/a"),
        (KUEUE, "ResourceFlavor", "{name: a}", "ResourceFlavor/a"),
        (KUEUE, "LocalQueue", "{name: a, namespace: web}", "LocalQueue/web/a"),
        (KUEUE, "WorkloadPriorityClass", "{name: a}", "WorkloadPriorityClass/a"),
        ("batch/v1", "Job", WITH_QUEUE, "Job/web/a"),
        ("scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota", "{name: a, namespace: web}", "ElasticQuota/web/a"),
        ("scheduling.volcano.sh/v1beta1", "Queue", "{name: a}", "Queue/a"),
        ("v1", "ResourceQuota", "{name: a, namespace: web}", "ResourceQuota/web/a"),
        ("v1", "Namespace", "{name: a}", "Namespace/a"),
    ],
)
def test_object_in_two_files_is_refused_with_both_places(
    tmp_path: Path, api_version: str, kind: str, metadata: str, label: str
) -> None:
    written = f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {metadata}\nspec: {{}}\n"
    (tmp_path / "earlier.yaml").write_text(f"# the team's own\n\n{written}")
    problem = str(Converted(tmp_path, written, str(tmp_path / "earlier.yaml")).problem)
    places = "is in manifests.yaml:3 and again in earlier.yaml:5; keep one of them"
    assert problem.replace(f"{tmp_path}/", "") == f"{label} {places}"


def test_every_object_that_is_written_twice_is_named_whatever_its_version(tmp_path: Path) -> None:
    queue = "---\napiVersion: kueue.x-k8s.io/%s\nkind: ClusterQueue\nmetadata: {name: %s}\n"
    twice = [queue % (version, name) for name in ("a", "b") for version in ("v1beta1", "v1beta2")]
    problem = str(Converted(tmp_path, "".join(twice)).problem).replace(f"{tmp_path}/", "")
    assert problem.splitlines() == [
        "ClusterQueue/a is in manifests.yaml:4 and again in manifests.yaml:8; keep one of them",
        "ClusterQueue/b is in manifests.yaml:12 and again in manifests.yaml:16; keep one of them",
    ]


def test_objects_whose_groups_would_have_one_name_are_refused_with_both_places(tmp_path: Path) -> None:
    quota = "---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\nmetadata: {name: eq, namespace: %s}\n"
    problem = str(Converted(tmp_path, "".join(quota % name for name in ("a", "b", "c"))).problem)
    assert problem.replace(f"{tmp_path}/", "") == (
        "manifests.yaml:8: ElasticQuota/b/eq metadata.name and manifests.yaml:12: ElasticQuota/c/eq metadata.name: "
        "both groups would be called eq-quota; rename one of the objects"
    )


def test_list_is_printed_as_json(tmp_path: Path) -> None:
    (made,) = Converted(tmp_path, VOLCANO, "-o", "json").documents
    assert (made["kind"], len(made["items"])) == ("List", 3)


def test_differences_fail_only_a_strict_conversion(tmp_path: Path) -> None:
    assert [Converted(tmp_path, VOLCANO, *flags).exit_code for flags in ((), ("--strict",))] == [0, 1]
