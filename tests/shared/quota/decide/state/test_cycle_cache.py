"""A plan made with the memory of previous cycles is the plan made without, and costs what has changed."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.decide.simulate.step import carry_out, end_evictions
from shared.quota.decide.state import cycle_state as cycle_module
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from tests.builders import NOW, pending
from tests.prove.random_draw import Seeded
from tests.prove.worlds import random_world
from tests.shared.quota.decide.plan_words import given


def whole(decided: Plan) -> tuple[object, ...]:
    return (
        decided.starts,
        decided.evictions,
        decided.notices,
        decided.notices_withdrawn,
        decided.claims_ended,
        dict(decided.over_since),
        decided.wake_at,
        sorted((each.workload.key, each.message) for each in decided.waiting),
    )


def random_engine_world(seed: str) -> World:
    closed = random_world(Seeded(seed))
    capacity = tuple((key.flavor, key.resource, amount) for key, amount in closed.capacity.items())
    work = [each.work for each in closed.lives]
    return World.of(closed.tree, closed.flavors, work, settings=replace(closed.settings, capacity=capacity))


@pytest.mark.parametrize("number", range(40))
def test_with_and_without_memory_the_same_is_decided(number: int) -> None:
    dice = Seeded(f"memory {number}")
    world, cache, snapshot, now = random_engine_world(f"memory {number}"), CycleCache(), None, NOW
    for _ in range(12):
        snapshot = measure(world, now, snapshot)
        remembered, fresh = plan(snapshot, cache), plan(measure(world, now))
        assert whole(remembered) == whole(fresh)
        written = carry_out(world, remembered) if dice.chance(80) else world
        if dice.chance(60):
            written = end_evictions(written)
        world, now = _after_something_happened(written, dice), now + timedelta(seconds=10)


def _after_something_happened(world: World, dice: Any) -> World:
    running = sorted(
        (each for bucket in world.workload_sets.values() for each in bucket.admitted), key=lambda each: each.key
    )
    if running and dice.chance(50):
        gone = dice.one_of(running)
        return world.with_changes([(gone, None)])
    return world


def test_a_cycle_opens_the_books_of_leaves_that_changed_and_of_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    class Counted(LeafUsage):
        def __init__(self, leaf: Any, numbers: Any) -> None:
            opened.append(leaf.group.name)
            super().__init__(leaf, numbers)

    groups = "root 200\n" + "\n".join(f"  g{number:02} 4" for number in range(50))
    work = [pending(f"g{number:02}", 2, f"w{number:02}-{each}") for number in range(50) for each in range(5)]
    world, cache = given(groups, work), CycleCache()
    snapshot: Snapshot | None = None
    for _ in range(3):
        snapshot = measure(world, NOW, snapshot)
        world = carry_out(world, plan(snapshot, cache))
    finished = world.workload_sets["g07"].admitted[0]
    snapshot = measure(world.with_changes([(finished, None)]), NOW, snapshot)
    monkeypatch.setattr(cycle_module, "LeafUsage", Counted)
    decided = plan(snapshot, cache)
    assert ([each.workload.group for each in decided.starts], opened) == (["g07"], ["g07"])
