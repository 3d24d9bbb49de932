"""The victim is told before it goes. docs/specification.md §7.12."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.quota.decide.decisions import Plan
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.workload import Workload
from tests.builders import NOW, after, pending, running
from tests.shared.quota.decide.plan_words import decide, evictions, name, started_and_evicted, waits

TWO = "root 8\n  a 4\n  b 4"
MINUTE = timedelta(seconds=60)
PREEMPTOR = pending("b", 4, "b1")


def noticed(decided: Plan) -> list[tuple[str, object, str | None]]:
    return [(name(each.workload), each.evict_at, each.preemptor) for each in decided.notices]


def test_victim_gets_a_notice_first_and_its_room_is_reserved() -> None:
    plan = decide(TWO, [running("a", 4, "a0"), running("a", 4, "a1"), PREEMPTOR], notice=MINUTE)
    assert (started_and_evicted(plan), noticed(plan), waits(plan), plan.wake_at) == (
        ([], []),
        [("a1", after(60), "ns/b1")],
        {"b1": "RoomDelayed"},
        after(60),
    )


@pytest.mark.parametrize(
    ("seconds", "expected"), [pytest.param(59, [], id="early"), pytest.param(60, ["a1 Reclaim for b1"], id="in time")]
)
def test_victim_is_evicted_when_its_notice_has_lasted_long_enough(seconds: int, expected: list[str]) -> None:
    work = [running("a", 4, "a0"), replace(running("a", 4, "a1"), notice=NOW), PREEMPTOR]
    plan = decide(TWO, work, now=after(seconds), notice=MINUTE)
    assert (evictions(plan), noticed(plan)) == (expected, [])


def test_notice_of_an_unneeded_victim_is_withdrawn() -> None:
    plan = decide(TWO, [running("a", 4, "a0"), replace(running("a", 4, "a1"), notice=NOW)], notice=MINUTE)
    assert [each.key for each in plan.notices_withdrawn] == ["ns/a1"]


def test_evictions_of_a_plan_wait_for_the_last_notice() -> None:
    work = [running("a", 4, "a0"), running("a", 2, "a1"), replace(running("a", 2, "a2"), notice=after(-60)), PREEMPTOR]
    plan = decide(TWO, work, notice=MINUTE)
    assert (started_and_evicted(plan), noticed(plan)) == (([], []), [("a1", after(60), "ns/b1")])


def test_plan_whose_notice_has_lasted_long_enough_does_not_wait_for_another_plan() -> None:
    noticed_early = replace(running("a", 4, "a1"), notice=after(-60))
    work = [running("a", 4, "a0"), noticed_early, running("a", 4, "a2"), PREEMPTOR, pending("c", 4, "c1")]
    plan = decide(f"{TWO}\n  c 4".replace("root 8", "root 12"), work, notice=MINUTE)
    assert (evictions(plan), noticed(plan)) == (["a1 Reclaim for c1"], [("a2", after(60), "ns/b1")])


@pytest.mark.parametrize(
    ("groups", "work", "settings"),
    [
        pytest.param("root 8\n  a 2..4", [running("a", 6, "x")], {}, id="over a ceiling"),
        pytest.param("root 4\n  a 4\n  b 4", [running("a", 6, "x")], {}, id="over capacity"),
        pytest.param(
            "root 12\n  a 4 w0\n  b 8",
            [running("a", 4, "w"), running("a", 2, "x"), running("b", 6, "b0"), pending("b", 8, "b1")],
            {"mode": ReclaimMode.STRICT},
            id="strict",
        ),
        pytest.param(TWO, [running("a", 8, "x"), pending("a", 4, "h", priority=1)], {}, id="preemption"),
    ],
)
def test_every_kind_of_reclaim_gives_notice(groups: str, work: list[Workload], settings: dict[str, Any]) -> None:
    plan = decide(groups, work, notice=MINUTE, **settings)
    assert (evictions(plan), [each[0] for each in noticed(plan)]) == ([], ["x"])


def test_drain_gives_no_notice() -> None:
    assert evictions(decide("root 8\n  a 4 drain", [running("a", 4, "x")], notice=MINUTE)) == ["x StopPolicy"]
