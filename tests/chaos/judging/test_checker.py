"""The checker finds what it should: each history here breaks one rule at most."""

from collections.abc import Callable

import pytest

from shared.api.core.pod import read_pod
from shared.api.names import GROUP_LABEL
from tests.builders import after
from tests.chaos.judging.records import Shutter
from tests.chaos.judging.written_histories import EXPECTED, WrittenHistory


def rules(history: WrittenHistory) -> list[tuple[str, str]]:
    return [(flaw.rule, flaw.object) for flaw in history.judged().flaws]


@pytest.fixture
def history() -> WrittenHistory:
    """Left borrows from right, and right asks for its own."""
    told = WrittenHistory()
    told.submit("borrower", "left", 6)
    told.start("borrower")
    told.run("borrower")
    told.submit("lender", "right", 4)
    return told


def test_a_sound_history(history: WrittenHistory) -> None:
    history.evict("borrower", by="lender")
    history.end("borrower")
    history.start("lender")
    history.run("lender")
    found = history.judged()
    assert found.flaws == []
    assert dict(found.counts) == {"versions": 15, "starts": 2, "evictions": 1, "reconciler's writes": 3}
    assert found.evictions == {"ns/borrower": 1}


def test_started_again_while_its_pod_exists(history: WrittenHistory) -> None:
    history.evict("borrower", by="lender")
    history.observe(
        "borrower",
        history.job("borrower", suspend=True, annotations=history.last_annotations),
        "controller",
        by_status=True,
    )
    history.start("borrower")
    assert rules(history) == [("StartedTwice", "ns/borrower")]


def test_started_again_while_its_status_counts_pods(history: WrittenHistory) -> None:
    history.evict("borrower", by="lender")
    history.observe("borrower-pod", history.pod("borrower", "Failed"), "controller", gone=True)
    history.start("borrower")
    assert rules(history) == [("StartedTwice", "ns/borrower")]


def test_started_before_the_victim_has_ended(history: WrittenHistory) -> None:
    history.evict("borrower", by="lender")
    history.start("lender")
    assert rules(history) == [("OverAdmitted", "ns/lender")]


@pytest.mark.parametrize(("is_down", "found"), [(False, ["EvictedWithoutCause"]), (True, [])])
def test_reclaimed_for_room_that_a_closed_node_does_not_offer(is_down: bool, found: list[str]) -> None:
    history = WrittenHistory()
    history.observe("node", Shutter("node", is_down), "admin")
    history.submit("modest", "left", 3)
    history.start("modest")
    history.run("modest")
    history.submit("lender", "right", 4)
    history.evict("modest", by="lender")
    assert [rule for rule, _ in rules(history)] == found


def test_started_above_a_ceiling() -> None:
    history = WrittenHistory()
    history.submit("big", "right", 7)
    history.start("big")
    assert rules(history) == [("OverAdmitted", "ns/big")]


def test_started_in_room_that_a_guarantee_keeps() -> None:
    history = WrittenHistory()
    history.group("left", min="4", lendingLimit="1")
    history.group("right", min="4")
    history.versions = [each for each in history.versions if each.revision not in (3, 4)]
    history.submit("big", "right", 6)
    history.start("big")
    assert rules(history) == [("OverAdmitted", "ns/big")]


def test_a_ceiling_lowered_a_moment_ago_may_not_have_been_seen() -> None:
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
    "by somebody else": (lambda history: history.evict("borrower", by="lender", user="user"), "StoppedByOther"),
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
def test_evicted(history: WrittenHistory, doctor: Callable[[WrittenHistory], None], rule: str) -> None:
    doctor(history)
    assert rules(history) == [(rule, "ns/borrower")]


def test_evicted_without_an_annotation(history: WrittenHistory) -> None:
    history.observe("borrower", history.job("borrower", suspend=True), "reconciler")
    assert rules(history) == [("BadEviction", "ns/borrower")]


def test_evicted_from_a_group_within_its_runtime() -> None:
    history = WrittenHistory()
    history.submit("modest", "left", 3)
    history.start("modest")
    history.run("modest")
    history.submit("lender", "right", 4)
    history.evict("modest", by="lender")
    assert rules(history) == [("EvictedWithoutCause", "ns/modest")]


def test_evicted_from_a_group_whose_own_start_was_written_after_the_eviction() -> None:
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


def test_evicted_from_a_group_that_is_over_with_what_it_has_claimed() -> None:
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


def test_evicted_for_a_preemptor_that_is_not_entitled() -> None:
    history = WrittenHistory()
    history.submit("borrower", "left", 6)
    history.start("borrower")
    history.run("borrower")
    history.submit("greedy", "right", 6)
    history.evict("borrower", by="greedy")
    assert rules(history) == [("EvictedWithoutCause", "ns/borrower")]


def test_preempted_by_work_of_its_group_that_is_no_more_important() -> None:
    history = WrittenHistory()
    history.submit("first", "left", 4)
    history.start("first")
    history.run("first")
    history.submit("second", "left", 4)
    history.evict("first", by="second", reason="Preempted")
    assert rules(history) == [("EvictedWithoutCause", "ns/first")]


def test_preempted_by_more_important_work_of_its_group() -> None:
    history = WrittenHistory()
    history.submit("first", "left", 4)
    history.start("first")
    history.run("first")
    history.submit("second", "left", 4, priority=5)
    history.evict("first", by="second", reason="Preempted")
    assert rules(history) == []


def test_reclaimed_though_not_preemptible() -> None:
    history = WrittenHistory()
    history.submit("borrower", "left", 6, preemptible="false")
    history.start("borrower")
    history.run("borrower")
    history.submit("lender", "right", 4)
    history.evict("borrower", by="lender")
    assert rules(history) == [("EvictedWithoutCause", "ns/borrower")]


def test_started_by_somebody_else() -> None:
    history = WrittenHistory()
    history.submit("job", "left", 1)
    history.start("job", user="mallory")
    assert rules(history) == [("ResumedByOther", "ns/job")]


def test_stopped_and_resumed_by_its_owner_when_it_had_finished() -> None:
    history = WrittenHistory()
    history.submit("job", "left", 1)
    history.start("job")
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    history.observe("job", history.job("job", suspend=False, status=done), "controller", by_status=True)
    history.observe("job", history.job("job", suspend=True, status=done), "user")
    history.observe("job", history.job("job", suspend=False, status=done), "user")
    assert rules(history) == []


def test_suspended_by_its_owner(history: WrittenHistory) -> None:
    history.observe("borrower", history.job("borrower", suspend=True), "user")
    assert rules(history) == [("StoppedByOther", "ns/borrower")]
    history.versions.pop()
    history.specs["borrower"][2]["quotree.dev/hold"] = "true"
    history.observe("borrower", history.job("borrower", suspend=True), "user")
    assert rules(history) == []


def test_written_without_the_lease() -> None:
    history = WrittenHistory()
    history.submit("job", "left", 1)
    history.start("job", writer="another")
    assert rules(history) == [("TwoLeaders", "ns/job")]


def test_evicted_again_and_again() -> None:
    history = WrittenHistory()
    history.submit("borrower", "left", 6)
    history.submit("lender", "right", 4)
    for _ in range(EXPECTED.most_evictions + 1):
        history.start("borrower")
        history.run("borrower")
        history.evict("borrower", by="lender")
        history.end("borrower")
    assert rules(history) == [("EvictedForEver", "ns/borrower")]


def test_an_orphaned_pod_of_a_job_was_not_created_running() -> None:
    history = WrittenHistory()
    history.submit("it", "left", 1)
    history.start("it")
    history.run("it")
    metadata = {"name": "it-pod", "namespace": "ns", "uid": "it-pod", "labels": {GROUP_LABEL: "left"}}
    history.observe("it-pod", read_pod({"metadata": metadata, "status": {"phase": "Running"}}), "garbage collector")
    assert history.judged().flaws == []
    history.observe("new-pod", read_pod({"metadata": {**metadata, "uid": "new-pod"}}), "user")
    assert [flaw.rule for flaw in history.judged().flaws] == ["ResumedByOther"]
