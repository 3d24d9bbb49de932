"""What spark-operator does with a SparkApplication, governed by Quotree, and which pods its driver may make.

Spark itself and the operator's webhook are stood in for: `dev/operators/spark_submit.py` makes the driver's pod, and
the tests make the executors, with a token of that pod as Spark's driver has it.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.rest import Rest
from dev.operators.recipe import SPARK
from tests.operated import LONG, Labels, Object, named, operated
from tests.operated_stories import Governed, governed
from tests.reconciler.reconciler_process import wait_for

OPERATORS = (SPARK,)
API = "sparkoperator.k8s.io/v1beta2"
ACCOUNT = "spark"
HEAP = {"cores": 1, "memory": "512m", "memoryOverhead": "512m"}
MAY = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get", "list", "delete"]}]
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}"


@pytest.fixture(scope="module")
def sparks(control_plane_binaries: Binaries) -> Iterator[Governed]:
    """Quotree governs the kind in namespaces that say so."""
    with (
        operated(control_plane_binaries, SPARK, API, "sparkapplications") as started,
        governed(started, "sparkapplication", application, dict) as it,
    ):
        yield it


def application(namespace: str, driver: Object, executor: Object, labels: Labels) -> Object:
    """A driver and two executors."""
    spec = {
        "type": "Scala",
        "mode": "cluster",
        "sparkVersion": "3.5.0",
        "image": "none",
        "mainApplicationFile": "local:///app.jar",
        "driver": {**HEAP, "serviceAccount": ACCOUNT, **driver},
        "executor": {**HEAP, "instances": 2, **executor},
    }
    return {"apiVersion": API, "kind": "SparkApplication", "metadata": named("train", namespace, labels), "spec": spec}


def room(flavor: str, cpu: int = 4) -> Object:
    return {"flavor": flavor, "min": {"cpu": cpu, "memory": "16Gi"}}


def started(it: Governed, namespace: str, flavor: str) -> Object:
    """Submit an application to a group of its own, and let it start; return the driver's pod."""
    it.group(namespace, quotas=[room(flavor)], stopPolicy="Hold")
    unit = it.submit(namespace, namespace, {}, {})
    rest = it.operated.cluster.rest
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ACCOUNT}
    for path, body in (
        (f"/api/v1/namespaces/{namespace}/serviceaccounts", {}),
        (f"{RBAC.format(namespace)}/roles", {"rules": MAY}),
        (f"{RBAC.format(namespace)}/rolebindings", {"roleRef": role, "subjects": [subject]}),
    ):
        assert rest.request("POST", path, {"metadata": {"name": ACCOUNT}, **body})[0] == 201
    wait_for(lambda: state(it, namespace) == "SUSPENDED", "its operator has seen that it is held", LONG)
    assert it.operated.pods(namespace) == []
    it.group(namespace, quotas=[room(flavor)])
    pod = running_driver(it, namespace)
    assert pod["metadata"]["labels"]["quotree.dev/unit"] == unit
    return pod


def running_driver(it: Governed, namespace: str) -> Object:
    def found() -> Object | None:
        drivers = [each for each in it.operated.pods(namespace) if each["metadata"]["name"] == "train-driver"]
        return next((each for each in drivers if each["status"]["phase"] == "Running"), None)

    pod: Object | None = wait_for(found, "its driver runs", LONG)
    assert pod is not None
    return pod


def state(it: Governed, namespace: str) -> str:
    found = it.operated.get(namespace, "train").get("status", {}).get("applicationState", {})
    return str(found.get("state", ""))


def as_pod(it: Governed, pod: Object) -> Rest:
    """Requests with the token that the kubelet mounts into the pod."""
    metadata = pod["metadata"]
    reference = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    path = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{ACCOUNT}/token"
    body = {"spec": {"boundObjectRef": reference, "expirationSeconds": 3600}}
    status, answer = it.operated.cluster.rest.request("POST", path, body)
    assert status == 201, answer
    url = urlsplit(it.operated.cluster.url)
    assert url.hostname is not None
    return Rest(url.hostname, url.port or 443, it.operated.cluster.ca_file, answer["status"]["token"])


def executor(it: Governed, driver: Object, number: int, cpu: str = "1", **changes: Any) -> Object:
    """As Spark makes it: from what the application says of executors when it is started."""
    found = it.operated.get(driver["metadata"]["namespace"], "train")
    spec = found["spec"]["executor"]
    labels = {**found["metadata"]["labels"], **spec["labels"]}
    owner = {"apiVersion": "v1", "kind": "Pod", "controller": True}
    owner |= {key: driver["metadata"][key] for key in ("name", "uid")}
    # In the template that the operator gives to Spark: as long as it is there, the executor is not collected.
    further = {"apiVersion": API, "kind": "SparkApplication", "name": "train", "uid": found["metadata"]["uid"]}
    resources = {"requests": {"cpu": cpu, "memory": "1024Mi"}, "limits": {"memory": "1024Mi"}}
    metadata = {"name": f"train-exec-{number}", "labels": labels, "ownerReferences": [further, owner]}
    container = {"name": "spark-kubernetes-executor", "image": "none", "resources": resources}
    body = {"restartPolicy": "Never", "containers": [container], "nodeSelector": spec["nodeSelector"], **changes}
    return {"metadata": metadata, "spec": body}


def create(by: Rest, namespace: str, pod: Object) -> tuple[int, str]:
    status, answer = by.request("POST", f"/api/v1/namespaces/{namespace}/pods", pod)
    by.close()
    return status, str(answer.get("message", ""))


def test_executors_run_at_once_and_count_for_their_application(sparks: Governed, namespace: str) -> None:
    driver = started(sparks, namespace, "t4")
    spark = as_pod(sparks, driver)
    for number in (1, 2):
        assert create(spark, namespace, executor(sparks, driver, number)) == (201, "")
    wait_for(lambda: sparks.operated.nodes(namespace) == ["t4-0"] * 3, "all run where they should", LONG)
    used = {"t4": {"cpu": "3", "memory": "3Gi"}}
    wait_for(lambda: sparks.used(namespace) == used, "they are counted", LONG)
    # While these have not ended, also while they end, there is no third one.
    slow = "demo.quotree.dev/stop-takes=3s"
    sparks.operated.cluster.kubectl("annotate", "pod", "train-exec-1", "-n", namespace, slow)
    assert spark.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/train-exec-1")[0] == 200
    status, message = create(spark, namespace, executor(sparks, driver, 3))
    assert (status, "was started with 2 pods of set executor" in message) == (403, True), message
    wait_for(lambda: create(spark, namespace, executor(sparks, driver, 3))[0] == 201, "its place is free", LONG)


def test_driver_makes_no_other_pods_than_its_application_declares(sparks: Governed, namespace: str) -> None:
    driver = started(sparks, namespace, "t4")
    spark = as_pod(sparks, driver)
    sized = {**executor(sparks, driver, 1, cpu="3")}
    assert "(GrowthWhileRunning)" in create(spark, namespace, sized)[1]
    assert "lacks model=t4" in create(spark, namespace, executor(sparks, driver, 1, nodeSelector={"model": "a100"}))[1]
    as_driver = executor(sparks, driver, 1)
    as_driver["metadata"]["labels"] = {**as_driver["metadata"]["labels"], "quotree.dev/pod-set": "driver"}
    assert "names no pods of SparkApplication train" in create(spark, namespace, as_driver)[1]


def test_nobody_else_makes_pods_in_the_drivers_name(sparks: Governed, namespace: str) -> None:
    """Neither a person nor another pod of the same service account."""
    driver = started(sparks, namespace, "t4")
    body = executor(sparks, driver, 1)
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m", "memory": "1Mi"}}}
    other = {"metadata": {"name": "other"}, "spec": {"serviceAccountName": ACCOUNT, "containers": [container]}}
    other["metadata"]["labels"] = {"quotree.dev/group": namespace}  # type: ignore[index]
    status, pod = sparks.operated.cluster.rest.request("POST", f"/api/v1/namespaces/{namespace}/pods", other)
    assert status == 201, pod
    for user in (sparks.operated.cluster.rest, as_pod(sparks, pod)):
        status, message = create(user, namespace, body)
        assert (status, "quotree.dev/unit is written by Quotree alone" in message) == (403, True), message


def test_stopped_application_starts_again_on_another_flavor(sparks: Governed, namespace: str) -> None:
    driver = started(sparks, namespace, "t4")
    spark = as_pod(sparks, driver)
    assert create(spark, namespace, executor(sparks, driver, 1)) == (201, "")
    sparks.group(namespace, quotas=[room("t4")], stopPolicy="HoldAndDrain")
    wait_for(lambda: state(sparks, namespace) == "SUSPENDED", "its operator has stopped it", LONG)
    # An executor ends by itself when it has lost its driver; as an orphan it might have been evicted before.
    sparks.operated.cluster.kubectl("delete", "pod", "train-exec-1", "-n", namespace, "--ignore-not-found")
    wait_for(lambda: sparks.used(namespace) == {}, "nothing is counted", LONG)
    sparks.group(namespace, quotas=[room("a100")])
    again = running_driver(sparks, namespace)
    assert again["spec"]["nodeName"] == "a100-0"
    assert create(as_pod(sparks, again), namespace, executor(sparks, again, 1)) == (201, "")
    used = {"a100": {"cpu": "3", "memory": "3Gi"}}
    wait_for(lambda: sparks.used(namespace) == used, "it is counted there, with the executor that is missing", LONG)
