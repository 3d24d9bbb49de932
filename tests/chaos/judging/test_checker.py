"""The checker finds what it should: each history here breaks one rule at most."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.api.core.pod import Pod, read_pod
from shared.api.names import GROUP_LABEL
from tests.builders import after
from tests.chaos.judging.checker import check
from tests.chaos.judging.history.records import Lease, Shutter
from tests.chaos.judging.history.written_histories import EXPECTED, WrittenHistory


def rules(history: WrittenHistory) -> list[tuple[str, str]]:
    return [(flaw.rule, flaw.object) for flaw in history.judged().flaws]


@pytest.fixture
def history() -> WrittenHistory:
    """Left borrows from right, and right asks for its own."""
    written = WrittenHistory()
    written.submit("borrower", "left", 6)
    written.start("borrower")
    written.run("borrower")
    written.submit("lender", "right", 4)
    return written


def test_sound_history_has_no_violation(history: WrittenHistory) -> None:
    history.evict("borrower", by="lender")
    history.end("borrower")
    history.start("lender")
    history.run("lender")
    found = history.judged()
    assert found.flaws == []
    assert dict(found.counts) == {"versions": 15, "starts": 2, "evictions": 1, "reconciler's writes": 3}
    assert found.evictions == {"ns/borrower": 1}


def show_as_stopped(history: WrittenHistory) -> None:
    """Let the borrower's status count no pods, though one of them exists."""
    history.observe(
        "borrower",
        history.job("borrower", suspend=True, annotations=history.last_annotations),
        "controller",
        by_status=True,
    )


def test_start_while_a_pod_of_the_previous_run_exists_is_reported(history: WrittenHistory) -> None:
    history.evict("borrower", by="lender")
    show_as_stopped(history)
    history.start("borrower")
    assert rules(history) == [("StartedTwice", "ns/borrower")]


def test_start_while_the_status_counts_pods_is_reported(history: WrittenHistory) -> None:
    history.evict("borrower", by="lender")
    history.observe("borrower-pod", history.pod("borrower", "Failed"), "controller", gone=True)
    history.start("borrower")
    assert rules(history) == [("StartedTwice", "ns/borrower")]


def test_pods_of_a_start_that_the_log_lacks_are_not_of_a_previous_run(history: WrittenHistory) -> None:
    """An API server that is killed stores a start without a line; pods and the status that shows it come after it."""
    history.evict("borrower", by="lender")
    history.end("borrower")
    history.submit("second", "left", 2)
    lost = len(history.versions)
    history.start("second")
    del history.versions[lost]
    history.run("second")
    assert rules(history) == []


def test_start_that_the_log_lacks_while_a_pod_of_the_previous_run_exists_is_reported(history: WrittenHistory) -> None:
    history.evict("borrower", by="lender")
    show_as_stopped(history)
    history.start("borrower", "controller", by_status=True)
    assert rules(history) == [("StartedTwice", "ns/borrower")]


def test_start_before_the_victim_has_ended_is_reported(history: WrittenHistory) -> None:
    history.evict("borrower", by="lender")
    history.start("lender")
    assert rules(history) == [("OverAdmitted", "ns/lender")]


def test_ignored_rules_are_not_judged(history: WrittenHistory) -> None:
    history.evict("borrower")
    history.start("lender")
    assert rules(history) == [("OverAdmitted", "ns/lender"), ("EvictedWithoutCause", "ns/borrower")]
    ignoring = replace(EXPECTED, ignored=frozenset({"OverAdmitted", "EvictedWithoutCause"}))
    found = check(history.versions, ignoring)
    assert (found.flaws, found.counts["starts"], found.counts["evictions"]) == ([], 2, 1)


@pytest.mark.parametrize(("is_down", "found"), [(False, ["EvictedWithoutCause"]), (True, [])])
def test_reclaim_for_room_on_a_closed_node_is_reported(is_down: bool, found: list[str]) -> None:
    history = WrittenHistory()
    history.observe("node", Shutter("node", is_down), "admin")
    history.submit("modest", "left", 3)
    history.start("modest")
    history.run("modest")
    history.submit("lender", "right", 4)
    history.evict("modest", by="lender")
    assert [rule for rule, _ in rules(history)] == found


@pytest.mark.parametrize(("cpus", "found"), [(3, []), (0, ["EvictedWithoutCause"])], ids=["holds cpus", "holds none"])
def test_reclaim_for_room_that_pods_of_a_deleted_job_hold_is_accepted(cpus: int, found: list[str]) -> None:
    """A new leader, which has never seen their Job, counts them as unmanaged: mins are scaled to what is left."""
    history = WrittenHistory()
    history.submit("modest", "left", 4)
    history.start("modest")
    history.run("modest")
    history.observe("pod", left_pod(cpus), "controller")
    history.submit("lender", "right", 2)
    history.evict("modest", by="lender")
    assert [rule for rule, _ in rules(history)] == found


def left_pod(cpus: int) -> Pod:
    """A pod on the node, whose Job is not there."""
    owner = {"kind": "Job", "apiVersion": "batch/v1", "name": "gone", "uid": "gone", "controller": True}
    container = {"name": "main", "resources": {"requests": {"cpu": str(cpus)}}}
    metadata = {"name": "gone-pod", "namespace": "ns", "uid": "gone-pod", "ownerReferences": [owner]}
    spec = {"nodeName": "node", "containers": [container]}
    return read_pod({"metadata": metadata, "spec": spec, "status": {"phase": "Running"}})


def test_start_above_a_ceiling_is_reported() -> None:
    history = WrittenHistory()
    history.submit("big", "right", 7)
    history.start("big")
    assert rules(history) == [("OverAdmitted", "ns/big")]


def test_start_in_room_kept_by_a_guarantee_is_reported() -> None:
    history = WrittenHistory()
    history.group("left", min="4", lendingLimit="1")
    history.group("right", min="4")
    history.versions = [each for each in history.versions if each.revision not in (3, 4)]
    history.submit("big", "right", 6)
    history.start("big")
    assert rules(history) == [("OverAdmitted", "ns/big")]


def test_recently_lowered_ceiling_allows_a_start() -> None:
    history = WrittenHistory()
    history.submit("job", "right", 6)
    history.group("right", min="2", max="2")
    history.start("job")
    assert rules(history) == []


DOCTORED: dict[str, tuple[Callable[[WrittenHistory], None], str]] = {
    "nobody asked": (lambda history: history.evict("borrower"), "EvictedWithoutCause"),
    "its preemptor does not exist": (lambda history: history.evict("borrower", by="ghost"), "EvictedWithoutCause"),
    "for a ceiling that it is below": (
        lambda history: history.evict("borrower", reason="OverCeiling"),
        "EvictedWithoutCause",
    ),
    "for a group that is not drained": (
        lambda history: history.evict("borrower", reason="GroupStopped"),
        "EvictedWithoutCause",
    ),
    "for readiness, which nobody waits for": (
        lambda history: history.evict("borrower", reason="PodsReadyTimeout"),
        "EvictedWithoutCause",
    ),
    "by another user": (lambda history: history.evict("borrower", by="lender", user="user"), "StoppedByOther"),
    "with other flavors than it had": (
        lambda history: history.evict("borrower", by="lender", flavors={"cpu": "gold"}),
        "BadEviction",
    ),
    "with another start than it had": (
        lambda history: history.evict("borrower", by="lender", since=after(1).isoformat()),
        "BadEviction",
    ),
    "before its start": (
        lambda history: history.evict("borrower", by="lender", time=after(-5).isoformat()),
        "BadEviction",
    ),
}


@pytest.mark.parametrize(("doctor", "rule"), DOCTORED.values(), ids=list(DOCTORED))
def test_doctored_eviction_is_reported(
    history: WrittenHistory, doctor: Callable[[WrittenHistory], None], rule: str
) -> None:
    doctor(history)
    assert rules(history) == [(rule, "ns/borrower")]


def test_eviction_without_an_annotation_is_reported(history: WrittenHistory) -> None:
    history.observe("borrower", history.job("borrower", suspend=True), "reconciler")
    assert rules(history) == [("BadEviction", "ns/borrower")]


def test_reclaim_from_a_group_within_its_runtime_is_reported() -> None:
    history = WrittenHistory()
    history.submit("modest", "left", 3)
    history.start("modest")
    history.run("modest")
    history.submit("lender", "right", 4)
    history.evict("modest", by="lender")
    assert rules(history) == [("EvictedWithoutCause", "ns/modest")]


def test_reclaim_from_a_group_whose_start_was_written_later_is_accepted() -> None:
    """One decision starts `urgent`, which puts left over its runtime, and takes `modest` from it for the lender."""
    history = WrittenHistory()
    history.submit("modest", "left", 3)
    history.start("modest")
    history.run("modest")
    history.submit("urgent", "left", 4, priority=5)
    history.submit("lender", "right", 4)
    history.evict("modest", by="lender")
    history.start("urgent")
    assert rules(history) == []


def test_reclaim_from_a_group_over_runtime_with_its_claims_is_accepted() -> None:
    history = WrittenHistory()
    history.submit("modest", "left", 3)
    history.start("modest")
    history.run("modest")
    history.submit("taker", "right", 5)
    history.start("taker")
    history.run("taker")
    history.submit("urgent", "left", 4, priority=5)
    history.submit("lender", "right", 1)
    history.evict("taker", by="urgent")
    history.end("taker")
    history.submit("owner", "right", 4)
    history.evict("modest", by="owner")
    assert rules(history) == []


@pytest.mark.parametrize(
    ("priority", "cpu", "found"),
    [(5, 2, []), (0, 2, [("EvictedWithoutCause", "ns/modest")]), (5, 5, [("EvictedWithoutCause", "ns/modest")])],
    ids=["entitled", "no more important", "not entitled"],
)
def test_reclaim_from_a_group_is_accepted_if_its_own_more_important_work_is_owed(
    priority: int, cpu: int, found: list[tuple[str, str]]
) -> None:
    """Left uses 3 of its 4. What ends elsewhere is kept for `urgent`, with which left is over: `modest` may go."""
    history = WrittenHistory()
    history.submit("modest", "left", 3)
    history.start("modest")
    history.run("modest")
    history.submit("urgent", "left", cpu, priority=priority)
    history.submit("owner", "right", 4)
    history.evict("modest", by="owner")
    assert rules(history) == found


def test_reclaim_for_a_preemptor_that_is_not_entitled_is_reported() -> None:
    history = WrittenHistory()
    history.submit("borrower", "left", 6)
    history.start("borrower")
    history.run("borrower")
    history.submit("greedy", "right", 6)
    history.evict("borrower", by="greedy")
    assert rules(history) == [("EvictedWithoutCause", "ns/borrower")]


def test_preemption_by_equal_priority_is_reported() -> None:
    history = WrittenHistory()
    history.submit("first", "left", 4)
    history.start("first")
    history.run("first")
    history.submit("second", "left", 4)
    history.evict("first", by="second", reason="Preempted")
    assert rules(history) == [("EvictedWithoutCause", "ns/first")]


def test_preemption_by_higher_priority_is_accepted() -> None:
    history = WrittenHistory()
    history.submit("first", "left", 4)
    history.start("first")
    history.run("first")
    history.submit("second", "left", 4, priority=5)
    history.evict("first", by="second", reason="Preempted")
    assert rules(history) == []


def test_reclaim_of_a_non_preemptible_workload_is_reported() -> None:
    history = WrittenHistory()
    history.submit("borrower", "left", 6, preemptible="false")
    history.start("borrower")
    history.run("borrower")
    history.submit("lender", "right", 4)
    history.evict("borrower", by="lender")
    assert rules(history) == [("EvictedWithoutCause", "ns/borrower")]


def test_start_by_another_user_is_reported() -> None:
    history = WrittenHistory()
    history.submit("job", "left", 1)
    history.start("job", user="mallory")
    assert rules(history) == [("ResumedByOther", "ns/job")]


def test_owner_edit_of_a_finished_job_is_accepted() -> None:
    history = WrittenHistory()
    history.submit("job", "left", 1)
    history.start("job")
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    history.observe("job", history.job("job", suspend=False, status=done), "controller", by_status=True)
    history.observe("job", history.job("job", suspend=True, status=done), "user")
    history.observe("job", history.job("job", suspend=False, status=done), "user")
    assert rules(history) == []


def test_suspension_by_the_owner_needs_the_hold_annotation(history: WrittenHistory) -> None:
    history.observe("borrower", history.job("borrower", suspend=True), "user")
    assert rules(history) == [("StoppedByOther", "ns/borrower")]
    history.versions.pop()
    history.specs["borrower"][2]["quotree.dev/hold"] = "true"
    history.observe("borrower", history.job("borrower", suspend=True), "user")
    assert rules(history) == []


def test_write_without_the_lease_is_reported() -> None:
    history = WrittenHistory()
    history.submit("job", "left", 1)
    history.start("job", writer="another")
    assert rules(history) == [("TwoLeaders", "ns/job")]


def test_write_that_was_received_before_another_took_the_lease_may_be_stored_after() -> None:
    history = WrittenHistory()
    history.submit("job", "left", 1)
    history.observe("lease", Lease("b"), "another")
    history.start("job")
    assert rules(history) == [("TwoLeaders", "ns/job")]
    *earlier, lease, start = history.versions
    history.versions = [*earlier, lease, replace(start, received=lease.received - timedelta(milliseconds=1))]
    assert rules(history) == []


def test_repeated_eviction_of_one_workload_is_reported() -> None:
    history = WrittenHistory()
    history.submit("borrower", "left", 6)
    history.submit("lender", "right", 4)
    for _ in range(EXPECTED.most_evictions + 1):
        history.start("borrower")
        history.run("borrower")
        history.evict("borrower", by="lender")
        history.end("borrower")
    assert rules(history) == [("EvictedForEver", "ns/borrower")]


def test_orphaned_pod_of_a_job_is_not_a_pod_created_running() -> None:
    history = WrittenHistory()
    history.submit("it", "left", 1)
    history.start("it")
    history.run("it")
    metadata = {"name": "it-pod", "namespace": "ns", "uid": "it-pod", "labels": {GROUP_LABEL: "left"}}
    history.observe("it-pod", read_pod({"metadata": metadata, "status": {"phase": "Running"}}), "garbage collector")
    assert history.judged().flaws == []
    history.observe("new-pod", read_pod({"metadata": {**metadata, "uid": "new-pod"}}), "user")
    assert [flaw.rule for flaw in history.judged().flaws] == ["ResumedByOther"]
