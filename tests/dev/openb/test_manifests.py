"""The trace is read whole, and becomes Kubernetes objects with its own figures."""

from dev.openb import manifests
from dev.openb.records import PodRecord, read_nodes, read_pods

POD = PodRecord("openb-pod-0017", 12000, 16384, 1, frozenset({"T4", "P100"}), "LS", 10, 40, 20)


def test_trace_is_complete() -> None:
    nodes, pods = list(read_nodes()), list(read_pods())
    assert (len(nodes), len(pods), sorted(manifests.by_model(nodes))) == (
        1213,
        8152,
        ["A10", "G2", "G3", "P100", "T4", "V100M16", "V100M32"],
    )
    assert {pod.qos for pod in pods} == set(manifests.PRIORITIES)


def test_pod_duration_counts_from_scheduling_or_creation() -> None:
    never = PodRecord("p", 1, 1, 0, frozenset(), "BE", 10, 40, None)
    assert (POD.ran_for, never.ran_for) == (20, 30)


def test_job_requests_what_the_pod_requested_on_its_accepted_models() -> None:
    job = manifests.job(POD, namespace="trace", group="vision")
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["requests"] == {
        "cpu": "12000m",
        "memory": "16384Mi",
        "nvidia.com/gpu": "1",
    }
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms[0]["matchExpressions"] == [{"key": manifests.MODEL_LABEL, "operator": "In", "values": ["P100", "T4"]}]
    assert (job["metadata"]["labels"], pod["priorityClassName"]) == ({"quotree.dev/group": "vision"}, "openb-ls")
