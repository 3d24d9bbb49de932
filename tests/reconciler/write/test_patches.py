"""Each decision is one patch whose tests name what it was decided on, and nothing that others change meanwhile."""

from typing import Any

import jsonpatch
import pytest
from jsonpointer import JsonPointer

from reconciler.write import patches
from shared.api import names
from shared.api.core.job import read_job
from shared.api.core.metadata import Metadata
from shared.api.core.placement import Toleration
from shared.api.core.pod import read_pod
from shared.api.names import (
    ADMISSION,
    EVICTION,
    GATE,
    GROUP_LABEL,
    INJECTED,
    NOTICE,
    PREEMPTIBLE_LABEL,
    REPLACEMENT,
)
from shared.quota.model.flavor import Flavor

JOB: dict[str, Any] = {
    "metadata": {"uid": "u1", "generation": 3, "labels": {GROUP_LABEL: "vision"}},
    "spec": {"suspend": True},
}
SEEN = Metadata(uid="u1", generation=3, labels={GROUP_LABEL: "vision"})
A100 = Flavor("a100", node_labels={"gpu": "a100"}, tolerations=(Toleration("gpu", "Exists"),))
T4 = Flavor("t4", node_labels={"gpu": "t4"})
SSD = Flavor("ssd", node_labels={"disk": "ssd"})
STEERED: dict[str, Any] = {"nodeSelector": {"gpu": "a100"}, "tolerations": [{"operator": "Exists", "key": "gpu"}]}
ON_A100 = '{"nodeSelector":{"gpu":"a100"},"tolerations":[{"key":"gpu","operator":"Exists"}]}'
ON_T4 = '{"nodeSelector":{"gpu":"t4"}}'
ON_BOTH = '{"nodeSelector":{"disk":"ssd","gpu":"a100"},"tolerations":[{"key":"gpu","operator":"Exists"}]}'


WAITING: dict[str, Any] = {"podReplacementPolicy": "Failed"}
GIVEN = {REPLACEMENT: "TerminatingOrFailed"}


def apply(document: dict[str, Any], operations: list[dict[str, Any]]) -> Any:
    """As the API server applies it: there, a test for null holds where nothing is."""
    absent = {"op": "test", "value": None}
    return jsonpatch.apply_patch(
        document,
        [
            each
            for each in operations
            if not (absent.items() <= each.items() and JsonPointer(each["path"]).resolve(document, None) is None)
        ],
    )


def start(job: dict[str, Any], *flavors: Flavor) -> list[dict[str, Any]]:
    return patches.start_job(read_job(job), "vision", {ADMISSION: "a"}, flavors)


def test_a_start_resumes_the_job_and_writes_the_admission() -> None:
    patched = apply(JOB, start(JOB))
    assert patched == {
        "metadata": {**JOB["metadata"], "annotations": {ADMISSION: "a", **GIVEN}},
        "spec": {"suspend": False, **WAITING},
    }


PLACED: dict[str, tuple[dict[str, Any], list[Flavor], dict[str, Any], str | None]] = {
    "in a labelled flavor": ({}, [T4], {"nodeSelector": {"gpu": "t4"}}, ON_T4),
    "in a tainted flavor": ({}, [A100], STEERED, ON_A100),
    "in two flavors": ({}, [A100, SSD], {**STEERED, "nodeSelector": {"gpu": "a100", "disk": "ssd"}}, ON_BOTH),
    "beside the owner's own words": (
        {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "x", "value": "y"}]},
        [A100],
        {
            "nodeSelector": {"disk": "ssd", "gpu": "a100"},
            "tolerations": [{"key": "x", "value": "y"}, {"operator": "Exists", "key": "gpu"}],
        },
        ON_A100,
    ),
    "in the empty flavor": ({}, [Flavor("default")], {}, None),
}


@pytest.mark.parametrize(("pod", "flavors", "placed", "note"), PLACED.values(), ids=PLACED)
def test_start_injects_the_placement_of_the_flavors(
    pod: dict[str, Any], flavors: list[Flavor], placed: dict[str, Any], note: str | None
) -> None:
    held = {**JOB, "spec": {"suspend": True, "template": {"spec": pod}}}
    started = apply(held, start(held, *flavors))
    assert started["spec"] == {"suspend": False, **WAITING, "template": {"spec": {**pod, **placed}}}
    assert started["metadata"]["annotations"] == {ADMISSION: "a", **GIVEN, **({} if note is None else {INJECTED: note})}


@pytest.mark.parametrize(
    ("flavor", "placed", "note"),
    [
        pytest.param(T4, {"nodeSelector": {"gpu": "t4"}}, {INJECTED: ON_T4}, id="another flavor"),
        pytest.param(Flavor("default"), {}, {}, id="the empty flavor"),
        pytest.param(A100, STEERED, {INJECTED: ON_A100}, id="the same flavor"),
    ],
)
def test_start_removes_the_placement_of_an_earlier_flavor(
    flavor: Flavor, placed: dict[str, Any], note: dict[str, str]
) -> None:
    own = {"key": "mine", "operator": "Exists"}
    pod = {"nodeSelector": {"gpu": "a100"}, "tolerations": [own, *STEERED["tolerations"]]}
    held = {
        "metadata": {**JOB["metadata"], "annotations": {INJECTED: ON_A100}},
        "spec": {"suspend": True, "template": {"spec": pod}},
    }
    started = apply(held, start(held, flavor))
    tolerations = [own, *placed.get("tolerations", [])]
    assert started["spec"]["template"]["spec"] == {**placed, "tolerations": tolerations}
    assert started["metadata"]["annotations"] == {ADMISSION: "a", **GIVEN, **note}


def test_start_leaves_a_policy_alone_that_waits_or_is_of_another_controller() -> None:
    for spec in (WAITING, {"managedBy": "example.com/other"}):
        started = apply(held := {**JOB, "spec": {"suspend": True, **spec}}, start(held))
        assert started["spec"] == {"suspend": False, **spec}
        assert started["metadata"]["annotations"] == {ADMISSION: "a"}


def test_eviction_gives_back_the_policy_of_the_owner() -> None:
    started = apply(JOB, start(JOB))
    seen = read_job(started).metadata
    evicted = apply(started, patches.evict_job(seen, "vision", {EVICTION: "e"}, patches.Guard.SPEC))
    assert evicted["spec"] == {"suspend": True, "podReplacementPolicy": "TerminatingOrFailed"}
    assert evicted["metadata"]["annotations"] == {EVICTION: "e"}


def test_policy_is_changed_once_and_keeps_what_the_owner_gave() -> None:
    running = {**JOB, "spec": {"suspend": False}}
    changed = apply(running, patches.change_policy(read_job(running), "vision", "Failed"))
    assert (changed["spec"], changed["metadata"]["annotations"]) == ({"suspend": False, **WAITING}, GIVEN)
    relaxed = apply(changed, patches.change_policy(read_job(changed), "vision", "TerminatingOrFailed"))
    assert relaxed["spec"] == {"suspend": False, "podReplacementPolicy": "TerminatingOrFailed"}
    assert relaxed["metadata"]["annotations"] == GIVEN


def test_reset_start_time_leaves_the_rest_of_the_status() -> None:
    before = {**JOB, "status": {"startTime": "2026-03-01T12:00:00Z", "ready": 0}}
    for status in (before["status"], {"ready": 0}):
        patched = apply({**JOB, "status": status}, patches.reset_start_time(SEEN, "vision"))
        assert patched == {**JOB, "status": {"startTime": None, "ready": 0}}


def test_eviction_suspends_and_removes_admission_and_notice() -> None:
    before: dict[str, Any] = {
        "metadata": {**JOB["metadata"], "annotations": {ADMISSION: "a", NOTICE: "n", "mine": "1"}},
        "spec": {"suspend": False},
    }
    seen = Metadata(
        uid="u1", generation=3, labels={GROUP_LABEL: "vision"}, annotations=before["metadata"]["annotations"]
    )
    patched = apply(before, patches.evict_job(seen, "vision", {EVICTION: "e"}, patches.Guard.SPEC))
    assert patched == {
        "metadata": {**JOB["metadata"], "annotations": {"mine": "1", EVICTION: "e"}},
        "spec": {"suspend": True},
    }


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"uid": "u2"}, id="another Job of that name"),
        pytest.param({"generation": 4}, id="another spec"),
        pytest.param({"labels": {GROUP_LABEL: "nlp"}}, id="another group"),
        pytest.param({"labels": {GROUP_LABEL: "vision", PREEMPTIBLE_LABEL: "false"}}, id="not preemptible any more"),
        pytest.param({"annotations": {"first": "1"}}, id="first annotations of another user"),
    ],
)
def test_start_is_not_applied_to_a_changed_object(changed: dict[str, object]) -> None:
    now = {**JOB, "metadata": {**JOB["metadata"], **changed}}
    with pytest.raises(jsonpatch.JsonPatchException):
        apply(now, start(JOB))


def test_start_writes_the_group_that_came_from_the_namespace() -> None:
    job = {"metadata": {"uid": "u1", "generation": 3, "labels": {"app": "x"}, "annotations": {"a": "b"}}, "spec": {}}
    patched = apply(job, start(job))
    assert patched["metadata"]["labels"] == {"app": "x", GROUP_LABEL: "vision"}


def test_patch_does_not_overwrite_another_annotation_value() -> None:
    seen = Metadata(uid="u1", annotations={EVICTION: "old"})
    with pytest.raises(jsonpatch.JsonPatchTestFailed):
        apply(
            {"metadata": {"uid": "u1", "annotations": {EVICTION: "newer"}}}, patches.annotate(seen, {EVICTION: "mine"})
        )


def test_pod_start_removes_its_gate_and_adds_the_placement_of_the_flavor() -> None:
    manifest: dict[str, Any] = {
        "metadata": {"uid": "p1", "name": "p", "namespace": "ns", "labels": {GROUP_LABEL: "vision"}},
        "spec": {
            "schedulingGates": [{"name": "other"}, {"name": GATE}],
            "nodeSelector": {"zone": "a"},
            "tolerations": [{"key": "x", "operator": "Exists"}],
        },
    }
    patched = apply(manifest, patches.start_pod(read_pod(manifest), "vision", "main", {ADMISSION: "a"}, [A100]))
    assert patched == {
        "metadata": {**manifest["metadata"], "annotations": {ADMISSION: "a"}},
        "spec": {
            "schedulingGates": [{"name": "other"}],
            "nodeSelector": {"zone": "a", "gpu": "a100"},
            "tolerations": [{"key": "x", "operator": "Exists"}, {"key": "gpu", "operator": "Exists"}],
        },
    }


def test_a_start_removes_why_the_workload_waited() -> None:
    waiting = {**JOB, "metadata": {**JOB["metadata"], "annotations": {names.WAITING: "{}"}}}
    assert names.WAITING not in apply(waiting, start(waiting))["metadata"]["annotations"]
