"""Work that borrows leaves its own leaf the entitlement of work whose room comes later. docs/specification.md §6.3."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.tree import Preemption
from tests.builders import NOW, after, pending, running
from tests.shared.quota.decide.plan_words import decide, given, started_and_evicted, starts, waits
from tests.trees import capacity_in, tree

GROUPS = tree("""
root 4 | default:cpu 8 | default:memory 8
  a 0
  b 3 w0 | default:cpu 3 w0 | default:memory 0 w0
""")
OWES = running("a", 3, "owes")
OLDER = pending("b", {"gpu": 3, "cpu": 3}, "older", created=after(-9), priority=1)
"""Entitled; there is CPU for it at once, and GPUs only when `owes` has had its notice."""


@pytest.mark.parametrize(
    ("preemption", "request_", "fields", "starts_now"),
    [
        pytest.param(Preemption.LOWER_PRIORITY, {"cpu": 2}, {}, True, id="the older one may preempt it"),
        pytest.param(Preemption.LOWER_PRIORITY, {"cpu": 2}, {"priority": 1}, False, id="of the same priority"),
        pytest.param(Preemption.NEVER, {"cpu": 2}, {}, False, id="no preemption in the group"),
        pytest.param(Preemption.NEVER, {"memory": 2}, {}, True, id="takes nothing that the older one needs"),
    ],
)
def test_borrowing_work_waits_unless_the_older_one_keeps_its_entitlement(
    preemption: Preemption, request_: dict[str, int], fields: dict[str, Any], starts_now: bool
) -> None:
    groups = GROUPS.with_group(replace(GROUPS["b"], preemption=preemption))
    decided = decide(groups, [OWES, OLDER, pending("b", request_, "younger", **fields)], notice=timedelta(seconds=40))
    assert (starts(decided), waits(decided)) == (
        (["younger opportunistic"], {"older": "RoomDelayed"})
        if starts_now
        else ([], {"older": "RoomDelayed", "younger": "RoomKeptForOthers"})
    )


def test_borrowing_work_need_not_wait_for_an_older_one_whose_claim_holds_its_room() -> None:
    decided = decide(GROUPS, [OWES, OLDER, pending("b", {"cpu": 2}, "younger", priority=1)])
    assert started_and_evicted(decided) == (["younger opportunistic"], ["owes Reclaim for older"])


def test_plan_for_an_older_one_stands_although_a_younger_one_borrows_in_one_of_its_flavors() -> None:
    """Measured with the younger one, which could have taken another flavor, the older one would not be entitled."""
    groups = tree("""
    root 4 default:cpu 8 | other:cpu 4
      a 0
      b 3 w0 default:cpu 3 w0 | other:gpu 0 w0 other:cpu 0 w0
    """)
    capacity = (*capacity_in(groups), ("other", "gpu", 1))
    flavors = (Flavor("default"), Flavor("other"))
    work = [OWES, OLDER, pending("b", {"cpu": 2}, "younger", priority=1)]
    decided = decide(groups, work, flavors, capacity=capacity)
    assert started_and_evicted(decided) == (["younger opportunistic"], ["owes Reclaim for older"])


def test_kept_room_hinders_no_swap() -> None:
    """It is kept from those that borrow; the swap takes no more than its victim leaves."""
    work = [OWES, OLDER, pending("a", 3, "new", priority=1)]
    assert started_and_evicted(decide(GROUPS, work, grace_period=timedelta(seconds=40))) == ([], ["owes Swap for new"])


def test_borrowing_work_is_looked_at_again_when_the_older_one_gets_its_claim() -> None:
    """Nothing of its leaf has changed then, and there is no more room than before."""
    younger, cache = pending("b", {"cpu": 2}, "younger", priority=1), CycleCache()
    before = given(GROUPS, [OWES, OLDER, younger], notice=timedelta(seconds=40))
    snapshot = measure(before, NOW)
    assert waits(plan(snapshot, cache)) == {"older": "RoomDelayed", "younger": "RoomKeptForOthers"}
    noticed = before.with_changes([(OWES, replace(OWES, notice=NOW))])
    decided = plan(measure(noticed, after(41), snapshot), cache)
    assert started_and_evicted(decided) == (["younger opportunistic"], ["owes Reclaim for older"])
