"""All or nothing: KEP-349's scenarios, time-outs, back-off and the limit. docs/specification.md §8."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.quota.decide.decisions import EvictionRule, Requeue
from shared.quota.decide.plan import plan as decide_on
from shared.quota.decide.queue.requeue import back_off, requeue
from shared.quota.measure.snapshot import measure
from shared.quota.model.settings import BlockAdmission, QueueAge, StartupSettings
from shared.quota.model.workload import Workload
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from tests.builders import NOW, after, claimed, evicting, pending, running
from tests.shared.quota.decide.plan_words import decide, evictions, given, started_and_evicted, starts, waits

TWO = "root 8\n  a 4\n  b 4"


def unready(group: str, name: str, *, was_ready: bool = False, lost: float | None = None, **fields: Any) -> Workload:
    work = running(group, 1, name, ready=False, **fields)
    assert work.admission is not None
    since = None if lost is None else after(lost)
    return replace(work, admission=replace(work.admission, was_ready=was_ready, unready_since=since))


def waiting_for_pods(block: BlockAdmission) -> dict[str, Any]:
    return {"wait_for_pods_ready": True, "block_admission": block}


NEW = [pending("a", 1, "a1"), pending("b", 1, "b1")]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        pytest.param(BlockAdmission.CLUSTER, [], id="Cluster: nobody starts"),
        pytest.param(BlockAdmission.GROUP, ["b1 entitled"], id="Group: others start"),
        pytest.param(BlockAdmission.NONE, ["a1 entitled", "b1 entitled"], id="None"),
    ],
)
def test_unready_workload_blocks_others(block: BlockAdmission, expected: list[str]) -> None:
    assert starts(decide(TWO, [unready("a", "x"), *NEW], **waiting_for_pods(block))) == expected


@pytest.mark.parametrize("block", BlockAdmission)
def test_ready_workload_blocks_none(block: BlockAdmission) -> None:
    assert len(starts(decide(TWO, [running("a", 1, "x"), *NEW], **waiting_for_pods(block)))) >= 1


@pytest.mark.parametrize("block", BlockAdmission)
def test_starts_block_none_where_nobody_waits_for_pods(block: BlockAdmission) -> None:
    settings = {**waiting_for_pods(block), "wait_for_pods_ready": False}
    assert starts(decide(TWO, NEW, **settings)) == ["a1 entitled", "b1 entitled"]


def test_blocked_workload_names_the_unready_workload() -> None:
    plan = decide(TWO, [unready("a", "x"), *NEW], **waiting_for_pods(BlockAdmission.CLUSTER))
    assert {each.message for each in PendingReasons(plan) if each.reason.value == "PodsNotReady"} == {
        "Job 'ns/a1' waits: the pods of Job 'ns/x' are not ready yet",
        "Job 'ns/b1' waits: the pods of Job 'ns/x' are not ready yet",
    }


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        pytest.param(BlockAdmission.CLUSTER, ["a1 entitled"], id="Cluster: one start a cycle"),
        pytest.param(BlockAdmission.GROUP, ["a1 entitled", "b1 entitled"], id="Group: one start a cycle and leaf"),
        pytest.param(BlockAdmission.NONE, ["a1 entitled", "a2 entitled", "b1 entitled"], id="None"),
    ],
)
def test_start_blocks_the_next_start(block: BlockAdmission, expected: list[str]) -> None:
    assert starts(decide(TWO, [*NEW, pending("a", 1, "a2")], **waiting_for_pods(block))) == expected


def test_no_workload_is_evicted_for_a_blocked_preemptor() -> None:
    work = [unready("b", "x"), running("a", 7, "a0"), pending("b", 3, "b1")]
    assert started_and_evicted(decide(TWO, work, **waiting_for_pods(BlockAdmission.GROUP))) == ([], [])


def test_room_of_a_blocked_entitled_workload_is_not_borrowed() -> None:
    work = [unready("b", "x"), running("a", 4, "a0"), pending("b", 3, "b1"), pending("a", 3, "a1")]
    plan = decide(TWO, work, **waiting_for_pods(BlockAdmission.GROUP))
    assert (starts(plan), waits(plan)) == ([], {"a1": "RoomKeptForOthers", "b1": "PodsNotReady"})


def test_claim_waits_until_other_workloads_are_ready() -> None:
    preemptor = pending("b", 4, "preemptor")
    gone = replace(claimed(evicting(running("a", 4, "v")), preemptor), admission=None)
    plan = decide(TWO, [unready("a", "x"), preemptor, gone], **waiting_for_pods(BlockAdmission.CLUSTER))
    assert (started_and_evicted(plan), plan.claims_ended) == (([], []), ())


@pytest.mark.parametrize(
    ("work", "now", "expected"),
    [
        pytest.param(unready("a", "x"), 299, [], id="not ready, before the timeout"),
        pytest.param(unready("a", "x"), 300, ["x StartupTimeout"], id="not ready at the timeout"),
        pytest.param(unready("a", "x", preemptible=False), 300, ["x StartupTimeout"], id="not preemptible either"),
        pytest.param(unready("a", "x", was_ready=True, lost=100), 159, [], id="lost its pods, before recoveryTimeout"),
        pytest.param(unready("a", "x", was_ready=True, lost=100), 160, ["x RecoveryTimeout"], id="not ready again"),
    ],
)
def test_workload_not_ready_in_time_is_evicted(work: Workload, now: float, expected: list[str]) -> None:
    plan = decide(TWO, [work], now=after(now), wait_for_pods_ready=True, recovery_timeout=timedelta(seconds=60))
    assert evictions(plan) == expected


@pytest.mark.parametrize(
    ("work", "now", "expected"),
    [
        pytest.param(unready("a", "x"), 301, [], id="it may have been ready when nobody watched"),
        pytest.param(unready("a", "x"), 600, ["x StartupTimeout"], id="it has not got ready since"),
        pytest.param(
            unready("a", "x", was_ready=True, lost=100), 301, ["x RecoveryTimeout"], id="it says since when it is not"
        ),
    ],
)
def test_readiness_timeout_counts_from_the_first_observation(work: Workload, now: float, expected: list[str]) -> None:
    world = given(TWO, [work], wait_for_pods_ready=True, recovery_timeout=timedelta(seconds=60))
    plan = decide_on(measure(replace(world, watched_since=after(300)), after(now)))
    assert evictions(plan) == expected


def test_next_readiness_timeout_wakes_the_cycle() -> None:
    assert decide(TWO, [unready("a", "x")], wait_for_pods_ready=True).wake_at == after(300)


def test_disabled_wait_for_pods_has_no_timeout() -> None:
    plan = decide(TWO, [unready("a", "x")], now=after(9999))
    assert (evictions(plan), plan.wake_at) == ([], None)


STARTUP = StartupSettings(
    wait_for_pods_ready=True, backoff_base=timedelta(seconds=10), backoff_max=timedelta(seconds=35), limit=3
)


@pytest.mark.parametrize(("failed", "seconds"), [(1, 10), (2, 20), (3, 35), (4, 35), (10_000, 35)])
def test_back_off_doubles_up_to_its_maximum(failed: int, seconds: int) -> None:
    assert back_off(failed, STARTUP) == timedelta(seconds=seconds)


EVICTION, CREATION = QueueAge.EVICTION, QueueAge.CREATION
TIMEOUT, RECLAIM = EvictionRule.STARTUP_TIMEOUT, EvictionRule.RECLAIM


@pytest.mark.parametrize(
    ("work", "rule", "age", "expected"),
    [
        pytest.param(unready("a", "x"), TIMEOUT, EVICTION, Requeue(NOW, after(10), 1), id="first failure"),
        pytest.param(unready("a", "x", failed_starts=1), TIMEOUT, EVICTION, Requeue(NOW, after(20), 2), id="second"),
        pytest.param(
            unready("a", "x", failed_starts=2), TIMEOUT, EVICTION, Requeue(NOW, None, 3, True), id="limit reached"
        ),
        pytest.param(
            unready("a", "x", failed_starts=2, was_ready=True),
            EvictionRule.RECOVERY_TIMEOUT,
            EVICTION,
            Requeue(NOW, after(10), 1),
            id="reaching ready clears the count",
        ),
        pytest.param(running("a", 1, "x", failed_starts=2), RECLAIM, EVICTION, Requeue(NOW), id="reclaimed when ready"),
        pytest.param(
            unready("a", "x", failed_starts=2), RECLAIM, EVICTION, Requeue(NOW, None, 2), id="reclaimed before"
        ),
        pytest.param(
            running("a", 1, "x", created=after(-9)), RECLAIM, CREATION, Requeue(after(-9)), id="age by creation"
        ),
    ],
)
def test_evicted_workload_gets_its_queue_place_and_back_off(
    work: Workload, rule: EvictionRule, age: QueueAge, expected: Requeue
) -> None:
    assert requeue(work, rule, STARTUP, age, NOW) == expected


def test_deactivated_workload_is_listed_in_the_plan() -> None:
    plan = decide(TWO, [unready("a", "x")], now=after(300), wait_for_pods_ready=True, limit=1)
    assert [each.workload.key for each in plan.deactivations] == ["ns/x"]
