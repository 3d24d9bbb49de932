"""What a cycle costs grows in proportion to its victims, preemptors and claims: counted in calls of the engine."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.workload import Workload
from shared.quota.outlook.simulate.step import carry_out
from tests.builders import NOW, after, pending, running
from tests.shared.quota.decide.cost.counted_calls import counted_calls
from tests.shared.quota.decide.plan_words import given

HOUR = timedelta(hours=1)
FEW, MANY = 160, 320
PER_VICTIM = 1.1
"""How much more each victim of the larger half can cost than one of the smaller, for the logarithms of heaps."""


def _borrowers(count: int, *, ready: bool = True) -> list[Workload]:
    return [running("borrower", 1, f"b-{each}", since=after(each - 90), ready=ready) for each in range(count)]


def _one_large(count: int) -> World:
    work = [*_borrowers(count), pending("owner", count, "large")]
    return given(f"root {count}\n  owner {count}\n  borrower 0", work, notice=HOUR)


def _many_small(count: int) -> list[Workload]:
    return [*_borrowers(count), *(pending("owner", 1, f"o-{each}", created=after(-each)) for each in range(count))]


def _noticed(count: int) -> World:
    return given(f"root {count}\n  owner {count}\n  borrower 0", _many_small(count), notice=HOUR)


def _exempt(count: int) -> World:
    return given(f"root {count}\n  owner {count}\n  borrower 0", _many_small(count), exempt_after_start=HOUR)


def _claimed(count: int) -> World:
    world = given(f"root {count}\n  owner {count}\n  borrower 0", _many_small(count))
    decided = plan(measure(world, NOW))
    assert len(decided.evictions) == count
    return carry_out(world, decided)


def _over_ceiling(count: int) -> World:
    return given(f"root {count}\n  borrower 0..1", _borrowers(count), notice=HOUR)


def _capacity_lost(count: int) -> World:
    return given("root 1\n  borrower 0", _borrowers(count, ready=False), loss_grace_period=timedelta(), notice=HOUR)


def _strict(count: int) -> World:
    work = [*_borrowers(count), running("owner", 1, "own"), pending("owner", count - 1, "large")]
    return given(f"root {count}\n  owner {count}\n  borrower 0", work, mode=ReclaimMode.STRICT, notice=HOUR)


def _many_leaves(count: int) -> World:
    names = [f"leaf-{each}" for each in range(count)]
    groups = "\n".join(f"  {name} 0" for name in names)
    work = [running(name, 1, f"b-{name}-{each}") for name in names[:8] for each in range(count // 8)]
    return given(f"root {count}\n  owner {count}\n{groups}", [*work, pending("owner", count, "large")], notice=HOUR)


SHAPES: dict[str, Callable[[int], World]] = {
    "one preemptor of many victims": _one_large,
    "many preemptors of one victim each": _noticed,
    "many preemptors, all victims exempt": _exempt,
    "many open claims": _claimed,
    "over a ceiling": _over_ceiling,
    "capacity lost": _capacity_lost,
    "Strict": _strict,
    "victims among many leaves": _many_leaves,
}


def _calls_of_a_change(world: World) -> int:
    """Return what the cycle after one more change costs, while notices, claims and exemptions last."""
    cache = CycleCache()
    snapshot = measure(world, NOW)
    decided = plan(snapshot, cache)
    world = carry_out(world, decided)
    world = world.with_changes([(None, pending("borrower", 1, "new", hold=True))])
    for seconds in (1, 2):
        with counted_calls() as calls:
            snapshot = measure(world, after(seconds), snapshot)
            decided = plan(snapshot, cache)
    return len(calls)


@pytest.mark.parametrize("shape", SHAPES)
def test_cost_of_a_change_is_in_proportion_to_the_victims(shape: str) -> None:
    least, few, many = (_calls_of_a_change(SHAPES[shape](count)) for count in (8, 8 + FEW, 8 + MANY))
    assert many - few <= PER_VICTIM * (few - least), (least, few, many)
