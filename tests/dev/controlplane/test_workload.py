"""Jobs and pods on simulated nodes: the real scheduler and Job controller, and what a pod's annotations make it do."""

import time
from collections.abc import Mapping
from typing import Any

import pytest

from dev.controlplane import cluster
from dev.controlplane.assembly import KWOK
from dev.controlplane.cluster import DEFAULT_CONTROLLERS, ControlPlane, NodeSpec, Taint
from dev.controlplane.flags import NODE_LIFECYCLE
from dev.controlplane.programs.binaries import Binaries
from tests.dev.controlplane.programs import eventually

NAMESPACE = "harness-work"


@pytest.fixture
def server(control_plane: ControlPlane) -> ControlPlane:
    control_plane.rest.request(
        "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    )
    return control_plane


def pod_spec(**extra: object) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    return {"restartPolicy": "Never", "containers": [container], **extra}


def create_job(server: ControlPlane, name: str, annotations: Mapping[str, str], **spec: object) -> None:
    template = {"metadata": {"annotations": dict(annotations)}, "spec": pod_spec(**spec)}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"backoffLimit": 0, "template": template},
    }
    assert server.rest.request("POST", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs", job)[0] == 201


def create_pod(server: ControlPlane, name: str, annotations: Mapping[str, str]) -> None:
    metadata = {"name": name, "annotations": dict(annotations), "labels": {"app": name}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec()}
    assert server.rest.request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", pod)[0] == 201
    assert eventually(lambda: phase(server, name) == "Running")


def job_conditions(server: ControlPlane, name: str) -> set[str]:
    _, job = server.rest.request("GET", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{name}")
    return {condition["type"] for condition in job["status"].get("conditions", ()) if condition["status"] == "True"}


def phase(server: ControlPlane, name: str) -> str:
    """The pod's phase; "gone" when there is no such pod."""
    status, pod = server.rest.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")
    return "gone" if status == 404 else str(pod["status"]["phase"])


def ready(server: ControlPlane, path: str) -> str:
    _, found = server.rest.request("GET", path)
    return next((c["status"] for c in found["status"].get("conditions", ()) if c["type"] == "Ready"), "absent")


def test_a_job_runs_to_completion_on_a_simulated_node(server: ControlPlane) -> None:
    create_job(server, "completes", {"demo.quotree.dev/run-for": "0.5s"})
    assert eventually(lambda: "Complete" in job_conditions(server, "completes"))
    _, pods = server.rest.request(
        "GET", f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=batch.kubernetes.io/job-name=completes"
    )
    assert [pod["status"]["phase"] for pod in pods["items"]] == ["Succeeded"]
    assert pods["items"][0]["spec"]["nodeName"].startswith("node-")


def test_job_marked_to_fail_fails(server: ControlPlane) -> None:
    create_job(server, "fails", {"demo.quotree.dev/fail": "true"})
    assert eventually(lambda: "Failed" in job_conditions(server, "fails"))


def test_pod_without_duration_runs_until_deleted_and_then_ends_at_once(server: ControlPlane) -> None:
    create_pod(server, "endless", {})
    assert ready(server, f"/api/v1/namespaces/{NAMESPACE}/pods/endless") == "True"
    server.rest.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods/endless")
    assert eventually(lambda: phase(server, "endless") == "gone")


def test_pod_takes_its_annotated_time_to_stop(server: ControlPlane) -> None:
    create_pod(server, "stops", {"demo.quotree.dev/stop-takes": "1s"})
    server.rest.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods/stops")
    assert eventually(lambda: phase(server, "stops") == "gone")


def test_slowly_stopping_pod_exists_until_it_has_stopped(server: ControlPlane) -> None:
    create_pod(server, "slow-to-stop", {"demo.quotree.dev/stop-takes": "1h"})
    _, deleted = server.rest.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods/slow-to-stop")
    assert deleted["metadata"]["deletionTimestamp"]
    assert phase(server, "slow-to-stop") == "Running"
    ended = {"status": {"phase": "Failed"}}
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/slow-to-stop/status"
    server.rest.request("PATCH", path, ended, "application/merge-patch+json")
    assert eventually(lambda: phase(server, "slow-to-stop") == "gone")


def test_pod_deleted_before_it_starts_has_ended_though_a_finalizer_keeps_it(server: ControlPlane) -> None:
    kwok = server.processes[KWOK]
    kwok.stop()
    metadata = {"name": "kept", "finalizers": ["example.com/kept"]}
    pod = {"metadata": metadata, "spec": pod_spec(nodeName="node-0")}
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"
    assert server.rest.request("POST", path, pod)[0] == 201
    server.rest.request("DELETE", f"{path}/kept")
    kwok.start()

    def change(**metadata: object) -> None:
        server.rest.request("PATCH", f"{path}/kept", {"metadata": metadata}, "application/merge-patch+json")

    def has_failed() -> bool:
        # kwok may read a pod before its node when it starts, and reads it again only once the pod has changed.
        change(annotations={"second": str(int(time.monotonic()))})
        return phase(server, "kept") == "Failed"

    assert eventually(has_failed)
    change(finalizers=None)
    assert eventually(lambda: phase(server, "kept") == "gone")


def test_pod_that_never_becomes_ready_still_runs(server: ControlPlane) -> None:
    create_pod(server, "unready", {"demo.quotree.dev/never-ready": "true"})
    assert ready(server, f"/api/v1/namespaces/{NAMESPACE}/pods/unready") == "False"


def test_an_eviction_that_a_disruption_budget_forbids_answers_429(server: ControlPlane) -> None:
    create_pod(server, "protected", {})
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "protected"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "protected"}}},
    }
    base = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
    server.rest.request("POST", base, budget)
    assert eventually(lambda: "observedGeneration" in server.rest.request("GET", f"{base}/protected")[1]["status"])

    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "protected"}}
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/protected/eviction"
    assert server.rest.request("POST", path, eviction)[0] == 429
    server.rest.request("DELETE", f"{base}/protected")
    assert eventually(lambda: server.rest.request("POST", path, eviction)[0] == 201)
    assert eventually(lambda: phase(server, "protected") == "gone")


def test_a_node_can_be_made_unready_and_ready_again(server: ControlPlane) -> None:
    server.add_nodes([NodeSpec("sick", taints=(Taint("only", "for-this-test"),))])
    annotation = {"metadata": {"annotations": {"demo.quotree.dev/not-ready": "true"}}}
    merge = "application/merge-patch+json"
    server.rest.request("PATCH", "/api/v1/nodes/sick", annotation, merge)
    assert eventually(lambda: ready(server, "/api/v1/nodes/sick") == "False")
    server.rest.request(
        "PATCH", "/api/v1/nodes/sick", {"metadata": {"annotations": {"demo.quotree.dev/not-ready": None}}}, merge
    )
    assert eventually(lambda: ready(server, "/api/v1/nodes/sick") == "True")
    server.rest.request("DELETE", "/api/v1/nodes/sick")


def test_scheduler_respects_labels_taints_and_capacity(server: ControlPlane) -> None:
    taint = Taint("gpu", "true")
    server.add_nodes([NodeSpec("gpu-1", {"model": "x1"}, (taint,), {"cpu": "2", "memory": "4Gi"})])
    tolerations = [{"key": "gpu", "operator": "Exists"}]
    for number in range(3):
        create_job(server, f"on-gpu-{number}", {}, nodeSelector={"model": "x1"}, tolerations=tolerations)
    create_job(server, "not-tolerating", {}, nodeSelector={"model": "x1"})

    def placed() -> list[str]:
        _, pods = server.rest.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods?fieldSelector=spec.nodeName=gpu-1")
        return [pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] for pod in pods["items"]]

    assert eventually(lambda: len(placed()) == 2)
    assert all(name.startswith("on-gpu-") for name in placed())
    server.kubectl("delete", "jobs", "--all", "-n", NAMESPACE, "--wait=false")
    server.rest.request("DELETE", "/api/v1/nodes/gpu-1")


def test_creating_an_existing_node_raises_the_message_of_the_api_server(server: ControlPlane) -> None:
    with pytest.raises(Exception, match=r"node 'node-0' was refused with 409: nodes \"node-0\" already exists"):
        server.add_nodes([NodeSpec("node-0")])


def test_a_service_account_appears_in_every_namespace(server: ControlPlane) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    assert eventually(lambda: server.rest.request("GET", path)[0] == 200)


def test_with_the_node_lifecycle_controller_an_unready_node_is_tainted_and_a_healthy_one_is_not(
    control_plane_binaries: Binaries,
) -> None:
    controllers = [*DEFAULT_CONTROLLERS, NODE_LIFECYCLE]
    with cluster.start(
        control_plane_binaries, nodes=[NodeSpec("one"), NodeSpec("two")], controllers=controllers
    ) as control_plane:
        control_plane.kubectl("annotate", "node", "one", "demo.quotree.dev/not-ready=true")

        def taints(node: str) -> set[str]:
            return {taint["key"] for taint in control_plane.get("node", node)["spec"].get("taints", ())}

        assert eventually(lambda: "node.kubernetes.io/not-ready" in taints("one"))
        assert eventually(lambda: taints("two") == set())
