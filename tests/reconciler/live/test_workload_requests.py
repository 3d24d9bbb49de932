"""What a Job or pod asks for, as Kubernetes counts it, and how the kinds of Jobs run under quota."""

from typing import Any

import pytest

from shared.api.names import ADMISSION, GATE, GROUP_LABEL
from tests.reconciler.job_history import recording
from tests.reconciler.reconciler_process import Quotree, finished, job_manifest, quota, wait_for
from tests.versions import skip_before

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"


def container(name: str = "main", cpu: str = "1", **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "none", "resources": {"requests": {"cpu": cpu}}, **more}


REQUESTS: dict[str, tuple[dict[str, Any], str]] = {
    "init": ({"initContainers": [container("first", "3")]}, "3"),
    "sidecar": ({"initContainers": [container("beside", "2", restartPolicy="Always")]}, "3"),
    "both": (
        {"initContainers": [container("beside", "2", restartPolicy="Always"), container("then", "2500m")]},
        "4500m",
    ),
    "pod-level": ({"resources": {"requests": {"cpu": "4"}}}, "4"),
    "limits": ({"containers": [{"name": "main", "image": "none", "resources": {"limits": {"cpu": "2"}}}]}, "2"),
    "overhead": ({"runtimeClassName": "heavy"}, "1250m"),
    "defaults": ({"containers": [{"name": "main", "image": "none"}]}, "700m"),
}


def test_requests_are_counted_like_kube_scheduler_does(q: Quotree) -> None:
    skip_before(34, q.control_plane, "requests of a whole pod")
    overhead = {"metadata": {"name": "heavy"}, "handler": "none", "overhead": {"podFixed": {"cpu": "250m"}}}
    q.create(CLASSES, {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", **overhead})
    limits = [{"type": "Container", "defaultRequest": {"cpu": "700m"}}]
    q.create("/api/v1/namespaces/default/limitranges", {"metadata": {"name": "usual"}, "spec": {"limits": limits}})
    try:
        q.lead()
        for name, (pod, _) in REQUESTS.items():
            q.group(name, quotas=[quota(max="9")])
            q.job(name, name, pod={"containers": [container()], **pod}, pods=2)
        wait_for(lambda: q.running() == set(REQUESTS), "all run", LONG)
        wait_for(lambda: all(len(q.pods_on_nodes(name)) == 2 for name in REQUESTS), "all have their pods", LONG)
        expected = {name: doubled(cpu) for name, (_, cpu) in REQUESTS.items()}
        wait_for(lambda: {name: used(q, name) for name in REQUESTS} == expected, f"used is {expected}", LONG)
    finally:
        q.delete(f"{CLASSES}/heavy")


def doubled(cpu: str) -> str:
    millis = 2 * (int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu))
    return f"{millis}m" if millis % 1000 else str(millis // 1000)


def used(q: Quotree, group: str) -> str | None:
    entries = q.group_status(group).get("quotas", [])
    return next((each.get("used", {}).get("cpu") for each in entries), None)


def succeed(q: Quotree, *pods: str) -> None:
    """Say as a kubelet would that these pods are done."""
    for name in pods:
        q.merge(f"{PODS}/{name}/status", {"status": {"phase": "Succeeded"}})


def test_indexed_job_uses_its_parallelism_and_less_near_its_end(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="2", max="2")])
    indexed = job_manifest("indexed", "vision", pods=3)
    indexed["spec"] |= {"parallelism": 2, "completionMode": "Indexed"}
    with recording(q.control_plane) as history:
        q.create(JOBS, indexed)
        wait_for(lambda: len(q.pods_on_nodes("indexed")) == 2, "two of its pods run", LONG)
        first, second = q.pods_on_nodes("indexed")
        q.job("after", "vision")
        succeed(q, first)
        wait_for(lambda: len(q.pods_on_nodes("indexed").keys() - {first, second}) == 1, "the third one runs", LONG)
        assert q.running() == {"indexed"}
        succeed(q, second)
        wait_for(lambda: q.running() == {"indexed", "after"}, "what it needs no more goes to the next", LONG)
        succeed(q, *q.pods_on_nodes("indexed"))
        wait_for(lambda: finished(q.get_job("indexed")), "it is complete", LONG)
        wait_for(lambda: history.starts().get("after"), "the recorder has seen it too", LONG)
        assert history.starts() == {"indexed": 1, "after": 1}
        assert list(history.wrongs()) == []


def test_pod_keeps_scheduling_gates_of_other_owners(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="2", max="2")])
    spec = {"schedulingGates": [{"name": "example.com/net"}, {"name": GATE}], "containers": [container()]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "gated", "labels": {GROUP_LABEL: "vision"}}}
    q.create(PODS, {**body, "spec": spec})
    wait_for(lambda: ADMISSION in q.get(f"{PODS}/gated")["metadata"].get("annotations", {}), "it is admitted", LONG)
    assert q.get(f"{PODS}/gated")["spec"]["schedulingGates"] == [{"name": "example.com/net"}]
    wait_for(lambda: used(q, "vision") == "1", "its quota is used", LONG)
    q.merge(f"{PODS}/gated", {"spec": {"schedulingGates": []}})
    wait_for(lambda: q.get(f"{PODS}/gated")["spec"].get("nodeName"), "it runs when the others let it", LONG)


def test_work_queue_job_counts_its_parallelism_until_pods_succeed(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="3", max="3")])
    queue = job_manifest("queue", "vision", pods=3)
    del queue["spec"]["completions"]
    q.create(JOBS, queue)
    wait_for(lambda: len(q.pods_on_nodes("queue")) == 3, "it has three workers", LONG)
    wait_for(lambda: used(q, "vision") == "3", "all count", LONG)
    succeed(q, *sorted(q.pods_of("queue"))[:2])
    wait_for(lambda: used(q, "vision") == "1", "after the first success none is made again", LONG)


POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"
TWO_CPU = '[JSONPatch{op: "replace", path: "/spec/containers/0/resources/requests/cpu", value: "2"}]'


def test_pods_larger_than_their_template_count_with_their_own_request(q: Quotree) -> None:
    skip_before(36, q.control_plane, "MutatingAdmissionPolicies")
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    spec = {
        "matchConstraints": {"resourceRules": rules},
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": TWO_CPU}}],
    }
    q.create(POLICIES, {"metadata": {"name": "larger"}, "spec": spec})
    q.create(BINDINGS, {"metadata": {"name": "larger"}, "spec": {"policyName": "larger"}})
    probe = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": {"containers": [container()]}}

    def enlarged() -> bool:
        _, made = q.control_plane.rest.request("POST", f"{PODS}?dryRun=All", probe)
        return bool(made["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "2")

    try:
        wait_for(enlarged, "the policy is in force", LONG)
        q.lead()
        q.group("vision", quotas=[quota(min="5", max="5")])
        q.job("first", "vision", pods=2)
        wait_for(lambda: len(q.pods_on_nodes("first")) == 2, "it has its pods", LONG)
        wait_for(lambda: used(q, "vision") == "4", "they are counted with what they request", LONG)
        q.job("second", "vision", pods=2)
        wait_for(lambda: [why for why, _ in q.events("second") if why == "WaitingForQuota"], "it waits", LONG)
        assert q.running() == {"first"}
    finally:
        q.delete(f"{BINDINGS}/larger")
        q.delete(f"{POLICIES}/larger")
