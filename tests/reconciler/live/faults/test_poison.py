"""Each step of the reconciler fails on one object, and on no other: all other workloads start, and it goes on."""

import re
from contextlib import suppress

import pytest

from shared.api.names import API_VERSION
from tests.reconciler.poisoned import NUMBERED, name_of
from tests.reconciler.reconciler_process import Quotree, job_manifest, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
REPORTS = ("reconciler.report.", "pending_reasons:")
"""Steps that come after the decision: the object itself is served."""


def poison(q: Quotree) -> None:
    """One object for each step."""
    for number, (kind, _) in enumerate(NUMBERED):
        name = name_of(number)
        if kind in ("Job", "Pending"):
            q.job(name, f"g-{number}", "500m" if kind == "Job" else "10")
        elif kind == "QuotaGroup":
            q.group(name, quotas=[quota(min="2", max="2")])
            q.job(f"in-{name}", name)
        elif kind == "Namespace":
            namespace(q, name)
            q.job(name, f"g-{number}", namespace=name)
        elif kind == "Node":
            allocatable = {"cpu": "1", "memory": "1Gi", "pods": "10"}
            q.create("/api/v1/nodes", {"metadata": {"name": name}, "status": {"allocatable": allocatable}})
        else:
            pod = {"nodeName": "node-0", "containers": [{"name": "main", "image": "none"}]}
            namespace(q, name)
            q.create(f"/api/v1/namespaces/{name}/pods", {"metadata": {"name": name}, "spec": pod})


def namespace(q: Quotree, name: str) -> None:
    """One that an earlier test has made is used again, without what is in it."""
    if q.control_plane.rest.request("GET", f"/api/v1/namespaces/{name}")[0] != 200:
        q.create("/api/v1/namespaces", {"metadata": {"name": name}})
    for path in (f"/apis/batch/v1/namespaces/{name}/jobs", f"/api/v1/namespaces/{name}/pods"):
        q.delete(path, {"gracePeriodSeconds": 0})
        wait_for(lambda path=path: not q.get(path)["items"], f"{path} is empty", LONG)  # type: ignore[misc]


def good(q: Quotree) -> set[str]:
    """A group and a Job that nothing is wrong with for each step."""
    for number in range(len(NUMBERED)):
        q.group(f"g-{number}", quotas=[quota(min="2", max="2")])
        q.job(f"good-{number}", f"g-{number}")
    return {f"good-{number}" for number in range(len(NUMBERED))}


def untold(q: Quotree) -> list[str]:
    """The steps whose object the log does not name."""
    lines = [line for line in q.log.read_text().splitlines() if "our own bug" in line or "not understood" in line]
    return [
        f"{name_of(number)} {step}"
        for number, (_, step) in enumerate(NUMBERED)
        if not any(re.search(rf"{name_of(number)}(?!\d)", line) for line in lines)
    ]


@pytest.mark.parametrize("order", ["there at the start", "created later"])
def test_all_others_start_whatever_step_fails_on_an_object(q: Quotree, order: str) -> None:
    q.module = "tests.reconciler.poisoned"
    if order == "created later":
        q.lead()
        expected = good(q)
        poison(q)
    else:
        expected = good(q)
        poison(q)
        q.lead()
    wait_for(lambda: expected <= q.running(), "all others run", LONG)
    with suppress(AssertionError):
        wait_for(lambda: not untold(q), "each fault is told", LONG)
    assert untold(q) == []
    assert q.process is not None
    assert q.process.poll() is None
    later = good_job_after(q)
    wait_for(lambda: later in q.running(), "one that comes later runs", LONG)
    held = {
        name_of(number)
        for number, (kind, step) in enumerate(NUMBERED)
        if kind == "Job" and not any(each in step for each in REPORTS)
    }
    assert not held & q.running()
    assert q.metric("quotree_set_aside") > 0
    assert q.metric("quotree_faults_total") > 0


def good_job_after(q: Quotree) -> str:
    q.job("later", "g-0")
    return "later"


def test_workload_that_is_set_aside_is_tried_again_when_it_changes(q: Quotree) -> None:
    q.module = "tests.reconciler.poisoned"
    number = next(number for number, (_, step) in enumerate(NUMBERED) if step.endswith(":assignments_of"))
    q.lead()
    q.group("vision", quotas=[quota(min="8", max="8")])
    q.job(name_of(number), "vision", "2")
    wait_for(lambda: q.metric("quotree_set_aside") == 1, "it is set aside", LONG)
    wait_for(lambda: q.events(name_of(number)), "an event says so", LONG)
    ((reason, note),) = q.events(name_of(number))
    assert reason == "SetAside"
    assert re.search(r"at shared/quota/decide/\S+\.py:\d+ \w+: nothing is started or evicted for it", note)
    q.merge(f"/apis/batch/v1/namespaces/default/jobs/{name_of(number)}", {"spec": {"parallelism": 0}})
    q.delete(f"/apis/batch/v1/namespaces/default/jobs/{name_of(number)}")
    wait_for(lambda: q.metric("quotree_set_aside") == 0, "it is gone", LONG)


def test_group_that_is_set_aside_says_so_and_keeps_what_runs(q: Quotree) -> None:
    q.module = "tests.reconciler.poisoned"
    number = next(number for number, (_, step) in enumerate(NUMBERED) if step.endswith(":read_leaf_settings"))
    name = name_of(number)
    running = job_manifest("before", name, suspend=False)
    q.create("/apis/batch/v1/namespaces/default/jobs", running)
    q.group(name, quotas=[quota(min="2", max="2")])
    q.start()
    wait_for(lambda: q.condition(name, "Active").get("reason") == "SetAside", "its condition says so", LONG)
    assert "shared/quota/measure/static/static_state.py:" in q.condition(name, "Active")["message"]
    q.job("waits", name)
    q.group("vision", quotas=[quota(min="2", max="2")])
    q.job("goes", "vision")
    wait_for(lambda: q.running() == {"before", "goes"}, "others start", LONG)
    q.delete(f"/apis/{API_VERSION}/quotagroups/{name}")
    wait_for(lambda: q.metric("quotree_set_aside") == 0, "it is gone", LONG)
