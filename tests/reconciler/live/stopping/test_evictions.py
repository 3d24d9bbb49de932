"""Why work stops: ceilings lowered, priority, notice, stop policies, unready work."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.api.names import HOLD_LABEL, NOTICE, PREEMPTIBLE_LABEL
from tests.reconciler.reconciler_process import Quotree, admission_of, eviction_of, note_of, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
URGENT = {"metadata": {"name": "urgent"}, "value": 100}

SCAN, SIGN = "hold.quotree.dev/scan", "hold.quotree.dev/sign"


def why_stopped(q: Quotree) -> dict[str, tuple[str, str]]:
    notes = {name: eviction_of(job) for name, job in q.jobs().items()}
    return {name: (note["reason"], note["rule"]) for name, note in notes.items() if note is not None}


def stopped_by(q: Quotree, group: str) -> tuple[str, str]:
    found = q.condition(group, "Stopped")
    return str(found.get("reason")), str(found.get("message"))


def fill(q: Quotree, group: str, how_many: int, **more: Any) -> None:
    for number in range(how_many):
        q.job(f"{group}-{number}", group, "1", **more)
    wait_for(lambda: len({name for name in q.running() if name.startswith(group)}) == how_many, f"{group} runs", LONG)


def test_lowered_ceiling_evicts_the_latest_start(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1", max="3")])
    fill(q, "vision", 3)
    started = {name: (admission_of(job) or {})["time"] for name, job in q.jobs().items()}
    q.group("vision", quotas=[quota(min="1", max="2")])
    wait_for(lambda: len(q.running()) == 2, "one has gone", LONG)
    (victim,) = why_stopped(q)
    assert why_stopped(q)[victim] == ("OverCeiling", "Ceiling")
    assert started[victim] == max(started.values())


def test_lowered_ceiling_respects_the_grace_period(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1", max="3")], reclaim={"gracePeriod": "4s"})
    fill(q, "vision", 3)
    lowered = datetime.now(UTC)
    q.group("vision", quotas=[quota(min="1", max="2")], reclaim={"gracePeriod": "4s"})
    wait_for(lambda: len(q.running()) == 2, "one has gone", LONG)
    (note,) = [each for each in map(eviction_of, q.jobs().values()) if each is not None]
    assert (note["reason"], note["rule"]) == ("OverCeiling", "Ceiling")
    assert datetime.fromisoformat(note["time"]) - lowered >= timedelta(seconds=4)


def test_higher_priority_swaps_with_lower_in_a_leaf_at_its_limit(q: Quotree) -> None:
    """The example of docs/specification.md §7.7."""
    q.create(CLASSES, {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **URGENT})
    try:
        q.lead()
        q.group("root", quotas=[quota(max="4")])
        for name in "ab":
            q.group(name, quotas=[quota(min="2")])
        q.job("low", "a", "3")
        wait_for(lambda: q.running() == {"low"}, "it runs alone", LONG)
        q.job("b1", "b", "3")
        wait_for(lambda: q.group_status("b").get("workloads", {}).get("pending") == 1, "b has a job that waits", LONG)
        q.job("high", "a", "3", pod={"priorityClassName": "urgent"})
        wait_for(lambda: q.running() == {"high"}, "the urgent one runs", LONG)
        assert why_stopped(q) == {"low": ("Preempted", "Swap")}
    finally:
        q.delete(f"{CLASSES}/urgent")


def test_higher_priority_preempts_in_its_own_group_only(q: Quotree) -> None:
    q.create(CLASSES, {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **URGENT})
    try:
        q.lead()
        q.group("root", quotas=[quota(max="4")])
        q.group("vision", quotas=[quota(min="2")])
        q.group("nlp", quotas=[quota(min="2")])
        fill(q, "nlp", 2)
        fill(q, "vision", 2)
        q.job("soon", "vision", "1", pod={"priorityClassName": "urgent"})
        wait_for(lambda: "soon" in q.running(), "the urgent one runs", LONG)
        assert {name for name in q.running() if name.startswith("nlp")} == {"nlp-0", "nlp-1"}
        assert list(why_stopped(q).values()) == [("Preempted", "Preemption")]
    finally:
        q.delete(f"{CLASSES}/urgent")


def test_eviction_follows_its_notice(q: Quotree) -> None:
    q.lead(reclaim={"notice": "4s"})
    q.group("root", quotas=[quota(max="2")])
    q.group("vision", quotas=[quota(min="1")])
    q.group("nlp", quotas=[quota(min="1")])
    fill(q, "vision", 2)
    q.job("lender", "nlp", "1")
    notices = wait_for(
        lambda: [note_of(job, NOTICE) for job in q.jobs().values() if note_of(job, NOTICE)], "notice", LONG
    )
    wait_for(lambda: "lender" in q.running(), "the lender runs", LONG)
    (note,) = [each for each in (eviction_of(job) for job in q.jobs().values()) if each is not None]
    assert notices[0] is not None
    assert datetime.fromisoformat(note["time"]) - datetime.fromisoformat(notices[0]["time"]) >= timedelta(seconds=4)


def test_notice_is_withdrawn_when_the_room_is_no_longer_needed(q: Quotree) -> None:
    q.lead(reclaim={"notice": "1h"})
    q.group("root", quotas=[quota(max="2")])
    q.group("vision", quotas=[quota(min="1")])
    q.group("nlp", quotas=[quota(min="1")])
    fill(q, "vision", 2)
    q.job("lender", "nlp", "1")

    def notices() -> list[str]:
        return [name for name, job in q.jobs().items() if note_of(job, NOTICE)]

    (victim,) = wait_for(notices, "one is told", LONG)
    wait_for(lambda: any(reason == "EvictionNotice" for reason, _ in q.events(victim)), "by an event too", LONG)
    q.delete(f"{JOBS}/lender")
    wait_for(lambda: not notices(), "it is told that it may stay", LONG)
    assert q.running() == {"vision-0", "vision-1"}


def test_drained_subtree_becomes_empty_and_can_be_opened_again(q: Quotree) -> None:
    q.lead()
    q.group("research", isParent=True, quotas=[quota(min="4")])
    q.group("vision", parent="research", quotas=[quota(min="2")], stopPolicy="Hold")
    q.group("nlp", parent="research", quotas=[quota(min="2")])
    fill(q, "nlp", 2, annotations={"demo.quotree.dev/stop-takes": "1h"})
    wait_for(lambda: q.pods_on_nodes("nlp-0") and q.pods_on_nodes("nlp-1"), "they have their pods", LONG)
    q.job("waits", "vision", "1")
    q.group("research", stopPolicy="HoldAndDrain")
    wait_for(lambda: q.condition("research", "Drained").get("reason") == "Draining", "it is being drained", LONG)
    wait_for(lambda: len(q.stopping_pods()) == 2, "its pods are to end", LONG)
    q.end_pods()
    wait_for(lambda: q.condition("research", "Drained").get("status") == "True", "it is drained", LONG)
    assert q.running() == set()
    assert set(why_stopped(q).values()) == {("GroupStopped", "StopPolicy")}
    wait_for(lambda: stopped_by(q, "nlp") == ("HoldAndDrain", "by the stop policy of group research"), "nlp too", LONG)
    q.group("research", stopPolicy=None)
    wait_for(lambda: q.running() == {"nlp-0", "nlp-1"}, "nlp goes on, vision keeps its own hold", LONG)
    wait_for(lambda: q.condition("research", "Drained")["status"] == "False", "the status says so", LONG)
    wait_for(lambda: stopped_by(q, "vision")[0] == "Hold", "so does vision's", LONG)
    assert q.running() == {"nlp-0", "nlp-1"}


def test_closed_group_keeps_its_running_workloads(q: Quotree) -> None:
    q.lead()
    q.group("research", isParent=True, quotas=[quota(min="1", max="1")])
    q.group("vision", parent="research", quotas=[quota(min="1")])
    fill(q, "vision", 1)
    q.job("waits", "vision", "1")
    q.group("research", stopPolicy="Close")
    wait_for(lambda: q.condition("vision", "Stopped").get("reason") == "Close", "it is closed", LONG)
    assert q.running() == {"vision-0"}
    q.delete(f"{JOBS}/vision-0")
    wait_for(lambda: q.running() == {"waits"}, "what waits there has its turn", LONG)


def test_unready_workload_blocks_its_group(q: Quotree) -> None:
    q.lead(startup={"waitForPodsReady": True, "blockAdmission": "Group", "timeout": "1h"})
    q.group("vision", quotas=[quota(min="4")])
    q.group("nlp", quotas=[quota(min="4")])
    q.job("slow", "vision", "1", annotations={"demo.quotree.dev/never-ready": "true"})
    wait_for(lambda: "slow" in q.running(), "the slow one has started", LONG)
    q.job("behind", "vision", "1")
    q.job("beside", "nlp", "1")
    wait_for(lambda: "beside" in q.running(), "the other group goes on", LONG)
    assert "behind" not in q.running()
    q.delete(f"{JOBS}/slow")
    wait_for(lambda: "behind" in q.running(), "it goes on when the slow one has gone", LONG)


def test_strict_mode_evicts_without_a_preemptor(q: Quotree) -> None:
    q.lead(reclaim={"mode": "Strict"})
    q.group("root", quotas=[quota(max="4")])
    q.group("vision", quotas=[quota(min="2")])
    q.group("nlp", quotas=[quota(min="2")])
    fill(q, "vision", 4)
    q.job("big", "nlp", "3", labels={PREEMPTIBLE_LABEL: "false"})
    q.job("small", "nlp", "2")
    wait_for(lambda: "small" in q.running(), "nlp has its own", LONG)
    assert len({name for name in q.running() if name.startswith("vision")}) == 2


def test_held_workload_waits_for_its_owner(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1")])
    q.job("mine", "vision", "1", labels={HOLD_LABEL: "true"})
    q.job("other", "vision", "1")
    wait_for(lambda: q.running() == {"other"}, "the other one runs", LONG)
    q.delete(f"{JOBS}/other")
    q.merge(f"{JOBS}/mine", {"metadata": {"labels": {HOLD_LABEL: None}}})
    wait_for(lambda: q.running() == {"mine"}, "it runs when its owner lets it", LONG)


def test_workload_waits_until_no_label_of_others_holds_it(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1")])
    q.job("mine", "vision", "1", labels={SCAN: "true", SIGN: "true"})
    q.job("other", "vision", "1")
    wait_for(lambda: q.running() == {"other"}, "the other one runs", LONG)
    q.delete(f"{JOBS}/other")
    q.merge(f"{JOBS}/mine", {"metadata": {"labels": {SCAN: None}}})
    q.job("next", "vision", "1")
    wait_for(lambda: q.running() == {"next"}, "the room goes to what nobody holds", LONG)
    q.delete(f"{JOBS}/next")
    q.merge(f"{JOBS}/mine", {"metadata": {"labels": {SIGN: None}}})
    wait_for(lambda: q.running() == {"mine"}, "it runs when all let it", LONG)
