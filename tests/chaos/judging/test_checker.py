"""The checker finds what it should: each history here is sound but for one thing."""

from collections.abc import Callable

import pytest

from shared.api.core.pod import read_pod
from shared.api.names import GROUP_LABEL
from tests.builders import after
from tests.chaos.judging.written_histories import EXPECTED, WrittenHistory


def rules(tale: WrittenHistory) -> list[tuple[str, str]]:
    return [(flaw.rule, flaw.object) for flaw in tale.judged().flaws]


@pytest.fixture
def tale() -> WrittenHistory:
    """Left borrows from right, and right asks for its own."""
    told = WrittenHistory()
    told.submit("borrower", "left", 6)
    told.start("borrower")
    told.run("borrower")
    told.submit("lender", "right", 4)
    return told


def test_a_sound_history(tale: WrittenHistory) -> None:
    tale.evict("borrower", by="lender")
    tale.end("borrower")
    tale.start("lender")
    tale.run("lender")
    found = tale.judged()
    assert found.flaws == []
    assert dict(found.counts) == {"versions": 15, "starts": 2, "evictions": 1, "reconciler's writes": 3}
    assert found.evictions == {"ns/borrower": 1}


def test_started_again_while_its_pod_exists(tale: WrittenHistory) -> None:
    tale.evict("borrower", by="lender")
    tale.tell("borrower", tale.job("borrower", suspend=True, notes=tale.last_notes), "controller", by_status=True)
    tale.start("borrower")
    assert rules(tale) == [("StartedTwice", "ns/borrower")]


def test_started_again_while_its_status_counts_pods(tale: WrittenHistory) -> None:
    tale.evict("borrower", by="lender")
    tale.tell("borrower-pod", tale.pod("borrower", "Failed"), "controller", gone=True)
    tale.start("borrower")
    assert rules(tale) == [("StartedTwice", "ns/borrower")]


def test_started_before_the_victim_has_ended(tale: WrittenHistory) -> None:
    tale.evict("borrower", by="lender")
    tale.start("lender")
    assert rules(tale) == [("OverAdmitted", "ns/lender")]


def test_started_above_a_ceiling() -> None:
    tale = WrittenHistory()
    tale.submit("big", "right", 7)
    tale.start("big")
    assert rules(tale) == [("OverAdmitted", "ns/big")]


def test_started_in_room_that_a_guarantee_keeps() -> None:
    tale = WrittenHistory()
    tale.group("left", min="4", lendingLimit="1")
    tale.group("right", min="4")
    tale.versions = [each for each in tale.versions if each.revision not in (3, 4)]
    tale.submit("big", "right", 6)
    tale.start("big")
    assert rules(tale) == [("OverAdmitted", "ns/big")]


def test_a_ceiling_lowered_a_moment_ago_may_not_have_been_seen() -> None:
    tale = WrittenHistory()
    tale.submit("job", "right", 6)
    tale.group("right", min="2", max="2")
    tale.start("job")
    assert rules(tale) == []


DOCTORED: dict[str, tuple[Callable[[WrittenHistory], None], str]] = {
    "nobody asked": (lambda tale: tale.evict("borrower"), "EvictedWithoutCause"),
    "its preemptor does not exist": (lambda tale: tale.evict("borrower", by="ghost"), "EvictedWithoutCause"),
    "for a ceiling that it is below": (
        lambda tale: tale.evict("borrower", reason="OverCeiling"),
        "EvictedWithoutCause",
    ),
    "for a group that is not drained": (
        lambda tale: tale.evict("borrower", reason="GroupStopped"),
        "EvictedWithoutCause",
    ),
    "for readiness, which nobody waits for": (
        lambda tale: tale.evict("borrower", reason="PodsReadyTimeout"),
        "EvictedWithoutCause",
    ),
    "by somebody else": (lambda tale: tale.evict("borrower", by="lender", user="user"), "StoppedByOther"),
    "with other flavors than it had": (
        lambda tale: tale.evict("borrower", by="lender", flavors={"cpu": "gold"}),
        "BadEviction",
    ),
    "with another start than it had": (
        lambda tale: tale.evict("borrower", by="lender", since=after(1).isoformat()),
        "BadEviction",
    ),
    "before its start": (
        lambda tale: tale.evict("borrower", by="lender", time=after(-5).isoformat()),
        "BadEviction",
    ),
}


@pytest.mark.parametrize(("doctor", "rule"), DOCTORED.values(), ids=list(DOCTORED))
def test_evicted(tale: WrittenHistory, doctor: Callable[[WrittenHistory], None], rule: str) -> None:
    doctor(tale)
    assert rules(tale) == [(rule, "ns/borrower")]


def test_evicted_without_an_annotation(tale: WrittenHistory) -> None:
    tale.tell("borrower", tale.job("borrower", suspend=True), "reconciler")
    assert rules(tale) == [("BadEviction", "ns/borrower")]


def test_evicted_from_a_group_within_its_runtime() -> None:
    tale = WrittenHistory()
    tale.submit("modest", "left", 3)
    tale.start("modest")
    tale.run("modest")
    tale.submit("lender", "right", 4)
    tale.evict("modest", by="lender")
    assert rules(tale) == [("EvictedWithoutCause", "ns/modest")]


def test_evicted_from_a_group_whose_own_start_was_written_after_the_eviction() -> None:
    """One decision starts `urgent`, which puts left over its runtime, and takes `modest` from it for the lender."""
    tale = WrittenHistory()
    tale.submit("modest", "left", 3)
    tale.start("modest")
    tale.run("modest")
    tale.submit("urgent", "left", 4, priority=5)
    tale.submit("lender", "right", 4)
    tale.evict("modest", by="lender")
    tale.start("urgent")
    assert rules(tale) == []


def test_evicted_from_a_group_that_is_over_with_what_it_has_claimed() -> None:
    tale = WrittenHistory()
    tale.submit("modest", "left", 3)
    tale.start("modest")
    tale.run("modest")
    tale.submit("taker", "right", 5)
    tale.start("taker")
    tale.run("taker")
    tale.submit("urgent", "left", 4, priority=5)
    tale.submit("lender", "right", 1)
    tale.evict("taker", by="urgent")
    tale.end("taker")
    tale.submit("owner", "right", 4)
    tale.evict("modest", by="owner")
    assert rules(tale) == []


def test_evicted_for_a_preemptor_that_is_not_entitled() -> None:
    tale = WrittenHistory()
    tale.submit("borrower", "left", 6)
    tale.start("borrower")
    tale.run("borrower")
    tale.submit("greedy", "right", 6)
    tale.evict("borrower", by="greedy")
    assert rules(tale) == [("EvictedWithoutCause", "ns/borrower")]


def test_preempted_by_work_of_its_group_that_is_no_more_important() -> None:
    tale = WrittenHistory()
    tale.submit("first", "left", 4)
    tale.start("first")
    tale.run("first")
    tale.submit("second", "left", 4)
    tale.evict("first", by="second", reason="Preempted")
    assert rules(tale) == [("EvictedWithoutCause", "ns/first")]


def test_preempted_by_more_important_work_of_its_group() -> None:
    tale = WrittenHistory()
    tale.submit("first", "left", 4)
    tale.start("first")
    tale.run("first")
    tale.submit("second", "left", 4, priority=5)
    tale.evict("first", by="second", reason="Preempted")
    assert rules(tale) == []


def test_reclaimed_though_not_preemptible() -> None:
    tale = WrittenHistory()
    tale.submit("borrower", "left", 6, preemptible="false")
    tale.start("borrower")
    tale.run("borrower")
    tale.submit("lender", "right", 4)
    tale.evict("borrower", by="lender")
    assert rules(tale) == [("EvictedWithoutCause", "ns/borrower")]


def test_started_by_somebody_else() -> None:
    tale = WrittenHistory()
    tale.submit("job", "left", 1)
    tale.start("job", user="mallory")
    assert rules(tale) == [("ResumedByOther", "ns/job")]


def test_stopped_and_resumed_by_its_owner_when_it_had_finished() -> None:
    tale = WrittenHistory()
    tale.submit("job", "left", 1)
    tale.start("job")
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    tale.tell("job", tale.job("job", suspend=False, status=done), "controller", by_status=True)
    tale.tell("job", tale.job("job", suspend=True, status=done), "user")
    tale.tell("job", tale.job("job", suspend=False, status=done), "user")
    assert rules(tale) == []


def test_suspended_by_its_owner(tale: WrittenHistory) -> None:
    tale.tell("borrower", tale.job("borrower", suspend=True), "user")
    assert rules(tale) == [("StoppedByOther", "ns/borrower")]
    tale.versions.pop()
    tale.specs["borrower"][2]["quotree.dev/hold"] = "true"
    tale.tell("borrower", tale.job("borrower", suspend=True), "user")
    assert rules(tale) == []


def test_written_without_the_lease() -> None:
    tale = WrittenHistory()
    tale.submit("job", "left", 1)
    tale.start("job", writer="another")
    assert rules(tale) == [("TwoLeaders", "ns/job")]


def test_evicted_for_ever() -> None:
    tale = WrittenHistory()
    tale.submit("borrower", "left", 6)
    tale.submit("lender", "right", 4)
    for _ in range(EXPECTED.most_evictions + 1):
        tale.start("borrower")
        tale.run("borrower")
        tale.evict("borrower", by="lender")
        tale.end("borrower")
    assert rules(tale) == [("EvictedForEver", "ns/borrower")]


def test_an_orphaned_pod_of_a_job_was_not_created_running() -> None:
    tale = WrittenHistory()
    tale.submit("it", "left", 1)
    tale.start("it")
    tale.run("it")
    metadata = {"name": "it-pod", "namespace": "ns", "uid": "it-pod", "labels": {GROUP_LABEL: "left"}}
    tale.tell("it-pod", read_pod({"metadata": metadata, "status": {"phase": "Running"}}), "garbage collector")
    assert tale.judged().flaws == []
    tale.tell("new-pod", read_pod({"metadata": {**metadata, "uid": "new-pod"}}), "user")
    assert [flaw.rule for flaw in tale.judged().flaws] == ["ResumedByOther"]
