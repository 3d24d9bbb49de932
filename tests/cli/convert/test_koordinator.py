"""Koordinator's profiles become flavors, and workloads that name a quota get the label of its group."""

from pathlib import Path

from tests.cli.convert.converting import Converted

PREFIX = "quota.scheduling.koordinator.sh"
PROFILE = """
apiVersion: quota.koordinator.sh/v1alpha1
kind: ElasticQuotaProfile
metadata: {name: gpu-nodes, namespace: kube-system}
spec:
  quotaName: gpu-root
  nodeSelector: {matchLabels: {pool: gpu}}
  resourceRatio: "0.9"
---
"""
QUOTA = """
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: vision, namespace: kube-system, labels: {quota.scheduling.koordinator.sh/parent: gpu-root}}
spec: {min: {cpu: 4, memory: 8Gi}, max: {cpu: 8, memory: 16Gi}}
---
"""


def test_tree_of_a_profile_has_the_flavor_of_its_nodes(tmp_path: Path) -> None:
    made = Converted(tmp_path, PROFILE + QUOTA)
    assert [each["spec"] for each in made.of_kind("ResourceFlavor")] == [{"nodeLabels": {"pool": "gpu"}}]
    assert made.spec("gpu-root") == {
        "isParent": True,
        "quotas": [{"flavor": "gpu-nodes", "min": {"cpu": "4", "memory": "8Gi"}}],
    }
    assert [entry["flavor"] for entry in made.spec("vision")["quotas"]] == ["gpu-nodes"]
    (note,) = made.notes
    assert note.partition("gpu-nodes ")[2] == (
        "spec.resourceRatio: 0.9 is left out: capacity is what the nodes offer; for less, give gpu-root a max such as "
        "90% of each resource"
    )
    assert made.check(tmp_path)[0] == 0


def test_pods_that_name_a_quota_get_its_group(tmp_path: Path) -> None:
    pod = f"""
apiVersion: v1
kind: Pod
metadata:
  name: p
  namespace: one
  labels: {{{PREFIX}/name: vision, {PREFIX}/preemptible: "false", app: x}}
  annotations: {{gang.scheduling.koordinator.sh/name: ring, gang.scheduling.koordinator.sh/min-available: "1"}}
spec: {{schedulerName: koord-scheduler, containers: [{{name: main, image: none}}]}}
"""
    made = Converted(tmp_path, QUOTA.replace("gpu-root", "koordinator-root-quota") + pod)
    (written,) = made.of_kind("Pod")
    assert written["metadata"]["labels"] == {
        "app": "x",
        "quotree.dev/preemptible": "false",
        "quotree.dev/pod-group": "ring",
        "quotree.dev/pod-group-size": "1",
        "quotree.dev/group": "vision",
    }
    assert ("schedulerName" in written["spec"], made.notes) == (False, [])
    assert made.judged[-1].partition("; ")[2].startswith("1 of 1 workloads start")


def test_quota_named_in_a_template_is_labelled_there_and_an_unknown_one_is_named(tmp_path: Path) -> None:
    job = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s, namespace: one}\nspec: {template: {metadata: "
        f"{{labels: {{{PREFIX}/name: %s}}}}, spec: {{containers: [{{name: main, image: none}}]}}}}}}\n---\n"
    )
    made = Converted(tmp_path, QUOTA.replace("gpu-root", "root") + job % ("a", "vision") + job % ("b", "absent"))
    (written,) = made.of_kind("Job")
    assert written["metadata"]["labels"] == {"quotree.dev/group": "vision"}
    assert [each.partition("/one/")[2] for each in made.notes] == [
        f"b spec.template.metadata.labels[{PREFIX}/name]: queue absent is not in the files; left out"
    ]
