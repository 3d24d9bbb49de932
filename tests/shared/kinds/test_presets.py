"""Every shipped kind on objects of it: their pod sets and sizes, states, what is refused, and hold and start.

The objects have the fields of the operators' own types in the versions that the presets name.
"""

import copy
from typing import Any

import jsonpatch
import pytest

from shared.api.annotations import InjectedAnnotation, InjectedPlacement
from shared.api.injection import NOTHING
from shared.kinds.operations import suspend_operations, template_operations
from tests.shared.kinds.objects import jobset, metadata, pytorchjob, read, replicated, sizes, template


def written(kind: str, **spec: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": metadata(), "spec": spec}


def ray(*workers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"headGroupSpec": {"template": template("2")}, "workerGroupSpecs": list(workers), **more}


def workers(name: str = "gpu", **fields: Any) -> dict[str, Any]:
    return {"groupName": name, "template": template("4"), **fields}


def rayjob(**more: Any) -> dict[str, Any]:
    cluster = more.pop("cluster", ray(workers(replicas=2)))
    return written("RayJob", **({"shutdownAfterJobFinishes": True, "rayClusterSpec": cluster} | more))


def tfjob(**replicas: Any) -> dict[str, Any]:
    return written("TFJob", tfReplicaSpecs=replicas)


def mpijob(**replicas: Any) -> dict[str, Any]:
    return written("MPIJob", mpiReplicaSpecs=replicas)


def wrapped(*components: dict[str, Any]) -> dict[str, Any]:
    return written("AppWrapper", components=list(components))


def component(kind: str = "Job", *pod_sets: dict[str, Any]) -> dict[str, Any]:
    body = {"kind": kind, "spec": {"template": template("2")} | template("1")["spec"]}
    return {"template": body} | ({"podSets": list(pod_sets)} if pod_sets else {})


LISTED = {"path": "template.spec.template", "replicas": 3}


def spark(**more: Any) -> dict[str, Any]:
    return written("SparkApplication", **({"type": "Scala", "driver": {}, "executor": {"instances": 4}} | more))


def lws(**more: Any) -> dict[str, Any]:
    return written("LeaderWorkerSet", replicas=3, leaderWorkerTemplate={"workerTemplate": template(), **more})


@pytest.mark.parametrize(
    ("item", "found"),
    [
        (jobset(replicated("a"), replicated("b", replicas=2, parallelism=3)), {"a": 1, "b": 6}),
        (written("RayCluster", **ray(workers(replicas=3))), {"head": 1, "gpu": 3}),
        (written("RayCluster", **ray(workers(replicas=1, minReplicas=2, numOfHosts=4))), {"head": 1, "gpu": 8}),
        (written("RayCluster", **ray(workers(replicas=9, maxReplicas=5))), {"head": 1, "gpu": 5}),
        (written("RayCluster", **ray(workers(replicas=9, minReplicas=7, maxReplicas=5))), {"head": 1, "gpu": 5}),
        (written("RayCluster", **ray(workers(replicas=9, suspend=True))), {"head": 1, "gpu": 0}),
        (rayjob(), {"head": 1, "gpu": 2, "submitter": 1}),
        (rayjob(submissionMode="HTTPMode"), {"head": 1, "gpu": 2}),
        (rayjob(submitterPodTemplate=template("9")), {"head": 1, "gpu": 2, "submitter": 1}),
        (pytorchjob(Master={"template": template()}, Worker={"replicas": 7, "template": template()}),
         {"Master": 1, "Worker": 7}),
        (tfjob(PS={"replicas": 2, "template": template()}, Worker={"template": template()}), {"PS": 2, "Worker": 1}),
        (mpijob(Launcher={"template": template()}, Worker={"replicas": 8, "template": template()}),
         {"Launcher": 1, "Worker": 8}),
        (mpijob(Launcher={"template": template()}, Worker={"template": template()}), {"Launcher": 1, "Worker": 0}),
        (mpijob(Launcher={"template": template()}), {"Launcher": 1}),
        (wrapped(component("Service"), component("Job", LISTED)), {"1-0": 3}),
        (wrapped(component("Job"), component("Pod")), {"0": 1, "1": 1}),
        (spark(), {"driver": 1, "executor": 4}),
        (spark(executor={}), {"driver": 1, "executor": 2}),
        (lws(size=4), {"leader": 1, "workers": 3}),
        (lws(size=4, leaderTemplate=template("3")), {"leader": 1, "workers": 3}),
        (written("TrainJob"), {}),
    ],
)  # fmt: skip
def test_preset_reads_the_pod_sets(item: dict[str, Any], found: dict[str, int]) -> None:
    seen = read(item)
    assert (sizes(seen), seen.problems, seen.refusals, seen.skipped) == (found, (), (), False)


@pytest.mark.parametrize(
    ("item", "refusal"),
    [
        (written("RayCluster", **ray(enableInTreeAutoscaling=True)), "leave spec.enableInTreeAutoscaling out"),
        (rayjob(cluster=ray(enableInTreeAutoscaling=True)), "leave spec.rayClusterSpec.enableInTreeAutoscaling out"),
        (rayjob(shutdownAfterJobFinishes=False), "set spec.shutdownAfterJobFinishes to true"),
        (rayjob(submissionMode="SidecarMode"), "set spec.submissionMode to K8sJobMode or HTTPMode"),
        (written("PyTorchJob", pytorchReplicaSpecs={}, elasticPolicy={"metrics": [{}]}), "spec.elasticPolicy.metrics"),
        (wrapped(component("PyTorchJob", LISTED)), "submit that component by itself"),
        (wrapped(component("Deployment")), "submit that component by itself"),
        (spark(dynamicAllocation={"enabled": True}), "leave spec.dynamicAllocation out"),
        (spark(sparkConf={"spark.dynamicAllocation.enabled": "true"}), "leave spec.dynamicAllocation out"),
        (spark(sparkConf={"spark.executor.memory": "9g"}), "write them under spec.driver and spec.executor"),
        (spark(nodeSelector={"a": "b"}), "write it under spec.driver.nodeSelector"),
        (spark(executor={"template": template()}), "write sidecars"),
    ],
)
def test_object_that_cannot_be_governed_completely_is_refused_with_a_remedy(item: dict[str, Any], refusal: str) -> None:
    (found,) = read(item).refusals
    assert refusal in found


@pytest.mark.parametrize(
    "item",
    [
        rayjob(clusterSelector={"ray.io/cluster": "mine"}, cluster=None),
        jobset(managedBy="kueue.x-k8s.io/multikueue"),
        written("TFJob", runPolicy={"managedBy": "kueue.x-k8s.io/multikueue"}),
    ],
)
def test_objects_of_other_controllers_are_ignored(item: dict[str, Any]) -> None:
    seen = read(item)
    assert (seen.skipped, seen.problems, seen.refusals, seen.pod_sets) == (True, (), (), ())


def conditions(**states: str) -> dict[str, Any]:
    return {"conditions": [{"type": each, "status": status} for each, status in states.items()]}


@pytest.mark.parametrize(
    ("item", "status", "noted", "finished"),
    [
        (written("RayCluster", **ray()), conditions(RayClusterSuspended="True"), False, False),
        (written("RayCluster", **ray()), conditions(RayClusterSuspended="False"), True, False),
        (written("RayCluster", **ray()), {"observedGeneration": 1}, True, False),
        (rayjob(), {"jobDeploymentStatus": "Suspended"}, False, False),
        (rayjob(), {"jobDeploymentStatus": "Initializing"}, True, False),
        (rayjob(), {"jobDeploymentStatus": "Complete"}, True, True),
        (tfjob(), conditions(Suspended="False", Running="True"), True, False),
        (mpijob(Launcher={"template": template()}), conditions(Succeeded="True"), False, True),
        (wrapped(), {"phase": "Suspended"}, False, False),
        (wrapped(), {"phase": "Resuming"}, True, False),
        (wrapped(), {"phase": "Failed"}, True, True),
        (spark(), {"applicationState": {"state": "SUSPENDED"}}, False, False),
        (spark(), {"applicationState": {"state": "RUNNING"}}, True, False),
        (spark(), {"applicationState": {"state": "COMPLETED"}}, True, True),
        (spark(), {"applicationState": {"state": "FAILED_SUBMISSION"}}, False, False),
    ],
)
def test_preset_reads_the_state(item: dict[str, Any], status: dict[str, Any], noted: bool, finished: bool) -> None:
    seen = read(item | {"status": status})
    assert (seen.noted, seen.finished) == (noted, finished)


STARTED = [
    jobset(replicated("a"), replicated("b")),
    written("RayCluster", **ray(workers(replicas=1))),
    rayjob(),
    tfjob(PS={"template": template()}, Worker={"template": template()}),
    mpijob(Launcher={"template": template()}, Worker={"template": template()}),
    wrapped(component("Job"), component("Pod")),
    wrapped(component("Job", LISTED), component("Job", LISTED, LISTED | {"replicas": 1})),
    spark(),
]


@pytest.mark.parametrize("item", STARTED)
def test_preset_holds_starts_and_stops_the_object(item: dict[str, Any]) -> None:
    held: dict[str, Any] = jsonpatch.apply_patch(copy.deepcopy(item), suspend_operations(read(item), value=True))
    seen = read(held)
    placed = InjectedPlacement({"pool": "p"}, [{"key": "k", "operator": "Exists"}])
    injected = InjectedAnnotation(pod_sets={each.name: placed for each in seen.pod_sets})
    patch = [*suspend_operations(seen, value=False), *template_operations(seen, NOTHING, injected, "u")]
    started = read(jsonpatch.apply_patch(copy.deepcopy(held), patch))
    assert (seen.suspended, started.suspended, sizes(started)) == (True, False, sizes(seen))
    for each in started.pod_sets:
        assert each.labels.value == {"quotree.dev/unit": "u", "quotree.dev/pod-set": each.name}
        assert each.node_selector.value == {"pool": "p"}
        assert each.tolerations.value == placed.tolerations
    stopped: Any = jsonpatch.apply_patch(copy.deepcopy(held), patch)
    stopped = jsonpatch.apply_patch(stopped, template_operations(started, injected, NOTHING))
    assert all(not (each.node_selector.value or each.tolerations.value) for each in read(stopped).pod_sets)


@pytest.mark.parametrize(
    ("fields", "spec", "cpu", "memory"),
    [
        ({}, {}, 1, "1408Mi"),
        ({"cores": 4, "memory": "10g"}, {}, 4, "11264Mi"),
        ({"cores": 4, "coreRequest": "500m", "memory": "512m"}, {}, "500m", "896Mi"),
        ({"memory": "10g"}, {"type": "Python"}, 1, "14336Mi"),
        ({"memory": "10g"}, {"memoryOverheadFactor": "0.25"}, 1, "12800Mi"),
        ({"memory": "10g", "memoryOverhead": "1g"}, {"type": "R"}, 1, "11264Mi"),
        ({"memory": "2048"}, {}, 1, "2432Mi"),
        ({"memory": "4GB"}, {}, 1, "4505Mi"),
    ],
)
def test_spark_pod_sizes_are_computed(fields: dict[str, Any], spec: dict[str, Any], cpu: Any, memory: str) -> None:
    driver, _ = read(spark(driver=fields, **spec)).pod_sets
    assert driver.spec.containers[0].resources.requests == {"cpu": cpu, "memory": memory}


def test_spark_pod_sets_include_all_pod_resources() -> None:
    side = template("2")["spec"]["containers"][0]
    gpu = {"name": "nvidia.com/gpu", "quantity": 2}
    _, executor = read(spark(executor={"gpu": gpu, "sidecars": [side], "priorityClassName": "high"})).pod_sets
    assert executor.spec.priority_class_name == "high"
    assert executor.spec.containers[0].resources.requests["nvidia.com/gpu"] == 2
    assert executor.spec.containers[1].resources.requests == {"cpu": "2"}


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"driver": {"memory": "much"}}, "spec.driver.memory is the text 'much', not a size of memory"),
        ({"driver": {"memory": 3}}, "spec.driver.memory is 3, not a size of memory"),
        ({"driver": {"memory": "9" * 40}}, "not a size of memory"),
        ({"driver": {"gpu": "two"}}, "spec.driver.gpu is the text 'two', not a mapping with name and quantity"),
        ({"driver": {"sidecars": "x"}}, "spec.driver.sidecars is the text 'x', not a list"),
        ({"memoryOverheadFactor": "1e999999"}, "spec.memoryOverheadFactor is the text '1e999999'"),
        ({"driver": {"coreRequest": ["x"]}}, "spec.driver cannot be read"),
        ({"driver": None}, "spec.driver is absent; it must be a pod template"),
    ],
)
def test_hostile_spark_objects_raise_no_exception(more: dict[str, Any], problem: str) -> None:
    assert problem in "; ".join(read(spark(**more)).problems)
