"""The judge of the fuzzer, on lists written by hand."""

from datetime import timedelta
from typing import Any

from shared.api.annotations import AdmissionAnnotation, write_annotation
from shared.api.json.reading import write_moment
from shared.api.names import ADMISSION
from shared.quota.model.settings import QuotaSettings
from tests.builders import NOW, after
from tests.chaos.judging.at_rest import PATHS, Rest
from tests.fuzz.judge import Groups, Patience, entitled_waiting, over_limits, used_by_live_pods
from tests.fuzz.stops import Stops

NAMESPACES = {"bound": "left", "open": ""}
JOB = {"apiVersion": "batch/v1", "kind": "Job"}
ROOT = {"metadata": {"name": "root"}, "spec": {"isParent": True}}


def group(name: str, cpu: int) -> dict[str, Any]:
    quotas = [{"min": {"cpu": cpu}, "max": {"cpu": cpu}}]
    return {"metadata": {"name": name}, "spec": {"parent": "root", "quotas": quotas}}


def pod(cpu: int, namespace: str = "bound", phase: str = "Running", **more: Any) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}
    metadata = {"name": "p", "namespace": namespace, "uid": "p", **more.pop("metadata", {})}
    spec = {"containers": [container], "nodeName": "n", **more}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def job(cpu: int, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": str(cpu)}}}]}}
    created = NOW.isoformat()
    metadata = {
        "name": "j",
        "namespace": "bound",
        "uid": "j",
        "creationTimestamp": created,
        "labels": {"quotree.dev/group": "left"},
    }
    body = {"parallelism": 1, "completions": 1, "suspend": True, "template": template, **spec}
    return {"metadata": metadata, "spec": body, "status": {}}


def lists(**found: list[dict[str, Any]]) -> Rest:
    return Rest({**{name: [] for name in PATHS}, "groups": [ROOT, group("left", 4)], **found})


def over(*pods: dict[str, Any], groups: Groups | None = None) -> list[str]:
    return list(over_limits(lists(pods=list(pods)), groups or Groups(NAMESPACES), {"cpu": 8000}, NOW))


def test_pods_count_with_their_requests_until_they_have_ended() -> None:
    ended, gated = pod(1, phase="Succeeded"), pod(2, schedulingGates=[{"name": "quotree.dev/admission"}])
    elsewhere = pod(4, "elsewhere")
    assert used_by_live_pods([pod(3), ended, gated, elsewhere], Groups(NAMESPACES)) == {"left": {"cpu": 3000}}
    assert over(pod(3), ended, gated, elsewhere) == []
    assert over(pod(3), pod(2)) == ["group 'left' is over"]


def test_terminating_pod_counts() -> None:
    assert over(pod(3), pod(2, metadata={"deletionTimestamp": NOW.isoformat()})) == ["group 'left' is over"]


def test_pod_counts_in_the_group_of_its_deleted_job() -> None:
    groups = Groups({"open": ""})
    owned = job(1)
    owned["metadata"]["namespace"] = "open"
    groups.see([owned])
    owner = {**JOB, "name": "j", "uid": "j", "controller": True}
    assert used_by_live_pods([pod(1, "open", metadata={"ownerReferences": [owner]})], groups) == {"left": {"cpu": 1000}}


def test_pod_made_for_a_jobset_counts_in_its_group() -> None:
    jobset = {"metadata": {"name": "s", "namespace": "bound", "uid": "s", "labels": {"quotree.dev/group": "other"}}}
    made = job(1)
    made["metadata"]["labels"] = {"quotree.dev/unit": "s"}
    by_job = pod(1, metadata={"ownerReferences": [{**JOB, "name": "j", "uid": "j", "controller": True}]})
    by_label = pod(2, metadata={"labels": {"quotree.dev/unit": "s"}})
    groups = Groups(NAMESPACES)
    groups.see([jobset, made])
    assert used_by_live_pods([by_job, by_label, pod(3)], groups) == {"other": {"cpu": 3000}, "left": {"cpu": 3000}}


def test_pod_that_no_group_counts_is_reported() -> None:
    assert over(pod(1, "open")) == ["pods run in a managed namespace and belong to no group"]


def test_pending_workload_below_the_min_of_its_group_is_reported() -> None:
    nodes = [{"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "8"}, "conditions": [READY]}}]
    waiting = lists(jobs=[job(3)], nodes=nodes)
    assert list(entitled_waiting(waiting, QuotaSettings(), after(1))) == ["bound/j waits"]
    assert list(entitled_waiting(lists(jobs=[job(5)], nodes=nodes), QuotaSettings(), after(1))) == []


READY = {"type": "Ready", "status": "True"}


def test_only_uninterrupted_violations_are_reported_and_only_once() -> None:
    patience = Patience(timedelta(seconds=10))
    assert patience.see(["a", "b"], after(0)) == []
    assert patience.see(["a"], after(9)) == []
    assert patience.see(["a", "b"], after(11)) == ["a for 11 s"]
    assert patience.see(["a", "b"], after(12)) == []
    assert patience.longest == (timedelta(seconds=12), "a")


def looked(generation: int, admitted_at: float | None = None, **spec: Any) -> Rest:
    """A group that is on hold, and a Job in it that waits or was started then."""
    stopped = group("left", 4)
    stopped["metadata"]["generation"] = generation
    stopped["spec"] |= {"stopPolicy": "Hold", **spec}
    started = job(1, suspend=admitted_at is None)
    if admitted_at is not None:
        note = AdmissionAnnotation(flavors={"cpu": "default"}, time=after(admitted_at))
        started["metadata"]["annotations"] = {ADMISSION: write_annotation(note)}
    root = {**ROOT, "metadata": {"name": "root", "generation": 1}}
    return lists(groups=[root, stopped], jobs=[started])


def starts_while_stopped(*looks: tuple[float, Rest]) -> list[str]:
    stops = Stops()
    return [each.split(" was ")[0] for seconds, rest in looks for each in stops.started(rest, after(seconds))]


def test_start_in_a_group_that_is_on_hold_is_found_once() -> None:
    held, started = looked(2), looked(2, admitted_at=30)
    assert starts_while_stopped((0, held), (31, started), (32, started)) == ["bound/j"]


def test_start_is_legal_while_an_override_opens_the_group_between_two_looks() -> None:
    opened = [{"from": write_moment(after(29)), "until": write_moment(after(31)), "stopPolicy": "Close"}]
    assert starts_while_stopped((0, looked(2)), (33, looked(3, admitted_at=30, overrides=opened))) == []


def test_start_may_be_legal_where_not_every_edit_of_the_group_was_seen() -> None:
    assert starts_while_stopped((0, looked(2)), (33, looked(4, admitted_at=30))) == []
