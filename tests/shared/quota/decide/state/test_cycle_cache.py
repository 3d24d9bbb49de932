"""A plan made with the cycle cache is the plan made without, and costs what has changed."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from shared.api.core.placement import Placement
from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.decide.state import round_usage as usage_module
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import ReclaimMode
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.simulate.step import carry_out, end_evictions
from tests.builders import NOW, after, pending, running
from tests.prove.numbers.placements import random_flavor
from tests.prove.random_draw import Seeded
from tests.prove.rest.searching import whole as whole_plan
from tests.prove.rest.stepping import live
from tests.prove.worlds.large_worlds import random_large_world
from tests.prove.worlds.world import random_world
from tests.shared.quota.decide.plan_words import PLAIN, given, starts
from tests.trees import KEY, tree


def whole(decided: Plan) -> tuple[object, ...]:
    return (
        decided.starts,
        decided.evictions,
        decided.notices,
        decided.notices_withdrawn,
        decided.claims_ended,
        dict(decided.over_since),
        decided.wake_at,
        sorted((each.workload.key, each.message) for each in PendingReasons(decided)),
    )


def random_engine_world(seed: str) -> World:
    closed = random_world(Seeded(seed))
    capacity = tuple((key.flavor, key.resource, amount) for key, amount in closed.capacity.items())
    work = [each.work for each in closed.lives]
    return World.of(closed.tree, closed.flavors, work, settings=replace(closed.settings, capacity=capacity))


def planned(world: World, now: datetime, last: Snapshot | None, cache: CycleCache) -> tuple[Snapshot, Plan]:
    """Measure and plan with what is kept; the plan is the one made from scratch."""
    snapshot = measure(world, now, last)
    remembered, fresh = plan(snapshot, cache), plan(measure(world, now))
    assert whole(remembered) == whole(fresh)
    return snapshot, remembered


def written(world: World, decided: Plan, dice: Any, carried_out: int = 80, ended: int = 60) -> World:
    """The world after the plan is carried out, or not, and what it evicts has ended, or not: chances in percent."""
    world = carry_out(world, decided) if dice.chance(carried_out) else world
    return end_evictions(world) if dice.chance(ended) else world


@pytest.mark.parametrize("number", range(40))
def test_cycle_cache_does_not_change_decisions(number: int) -> None:
    dice = Seeded(f"memory {number}")
    world, cache, snapshot, now = random_engine_world(f"memory {number}"), CycleCache(), None, NOW
    for _ in range(12):
        snapshot, remembered = planned(world, now, snapshot, cache)
        world = _after_something_happened(written(world, remembered, dice), dice)
        now += timedelta(seconds=10)


def _after_something_happened(world: World, dice: Any) -> World:
    running = sorted(
        (each for bucket in world.workload_sets.values() for each in bucket.admitted), key=lambda each: each.key
    )
    if running and dice.chance(50):
        gone = dice.one_of(running)
        return world.with_changes([(gone, None)])
    if dice.chance(20):
        name = dice.one_of(sorted(world.flavors))
        return replace(world, flavors={**world.flavors, name: random_flavor(dice, name)})
    return world


@pytest.mark.parametrize("number", range(30))
def test_cycle_cache_does_not_change_decisions_in_large_worlds(number: int) -> None:
    """Deep, wide and open worlds, with capacity that oscillates, edits meanwhile and workloads that end."""
    for cycle in live(random_large_world(Seeded(f"large {number}"))):
        assert cycle.remembered is not None
        assert whole_plan(cycle.remembered) == whole_plan(cycle.plan)


@pytest.mark.parametrize("number", range(60))
def test_cycle_cache_does_not_change_decisions_under_changing_capacity(number: int) -> None:
    """Unmanaged pods take capacity and free it, so that the cache is kept; large worlds, ends and edits meanwhile."""
    dice = Seeded(f"oscillates {number}")
    large = random_large_world(dice)
    capacity = tuple((key.flavor, key.resource, amount) for key, amount in large.capacity.items())
    settings = replace(large.settings, capacity=capacity)
    work = [replace(each.work, created=NOW, queued=NOW) for each in large.lives]
    world, cache, snapshot, now = World.of(large.tree, large.flavors, work, settings=settings), CycleCache(), None, NOW
    for _ in range(16):
        snapshot, cached = planned(world, now, snapshot, cache)
        after_it = _after_something_happened(written(world, cached, dice, carried_out=90, ended=70), dice)
        taken = {key: dice.between(0, max(1, amount // 3)) for key, amount in large.capacity.items()}
        edit = dice.one_of(large.edits) if large.edits and dice.chance(10) else None
        world = replace(after_it, unmanaged=taken if dice.chance(50) else after_it.unmanaged)
        world = world if edit is None else replace(world, tree=world.tree.with_group(edit.group))
        now += timedelta(seconds=10)


GUARANTEE_GROWS = """
root
  p/ 5..10 l0
    p1 ..5 w0
  q 5..9
"""


def test_guarantee_that_grows_with_the_capacity_gives_room() -> None:
    """At capacity 8, p's guarantee of 5 is scaled to 4; at 9 it is 5, and the job of 5 below it fits."""
    groups = tree(GUARANTEE_GROWS)
    work = [
        pending("p1", 5, "waits"),
        *(running("q", 1, f"runs-{each}") for each in range(4)),
        *(pending("q", 1, f"q-{each}") for each in range(4)),
    ]
    world, cache, snapshot = given(groups, work, capacity=(("default", "gpu", 9),)), CycleCache(), None
    decided = []
    for left in (8, 8, 9):
        world = replace(world, unmanaged={KEY: 9 - left})
        snapshot = measure(world, NOW, snapshot)
        remembered, fresh = plan(snapshot, cache), plan(measure(world, NOW))
        assert whole(remembered) == whole(fresh)
        decided.append(starts(remembered))
    assert decided[2] == ["waits opportunistic"]


def test_room_that_was_too_little_is_enough_once_the_leaf_itself_uses_less() -> None:
    """What a's guarantee keeps is not lent, so that the end of `ends` changes nothing in what is left for others."""
    ends = running("a", 4, "ends")
    work = [ends, pending("a", 6, "new"), running("b", 4, "b0", preemptible=False), pending("b", 9, "b1")]
    world, cache = given("root 12\n  a 4 w0 l0\n  b 4", work, mode=ReclaimMode.STRICT), CycleCache()
    first = measure(world, NOW)
    assert starts(plan(first, cache)) == []
    ended = measure(world.with_changes([(ends, None)]), NOW, first)
    assert starts(plan(ended, cache)) == ["new opportunistic"]


def test_arrival_deep_in_the_tree_starts_after_an_idle_cycle() -> None:
    """Nothing changes in `o`, the only group below root that waited in the idle cycle."""
    groups = tree("root\n  team/ 0\n    leaf 0\n  o 0")
    work = [running("leaf", 5, "runs"), pending("o", 8, "large", created=after(-9))]
    world, cache = given(groups, work, capacity=(("default", "gpu", 10),)), CycleCache()
    idle = measure(world, NOW)
    assert starts(plan(idle, cache)) == []
    arrived = measure(world.with_changes([(None, pending("leaf", 3, "new"))]), NOW, idle)
    assert starts(plan(arrived, cache)) == starts(plan(arrived)) == ["new opportunistic"]


def test_leaf_that_is_moved_is_judged_below_its_new_parent() -> None:
    groups = tree("root 8\n  p/ 0..2\n    a 0\n  q/ 0\n    b 0")
    world, cache = given(groups, [pending("a", 4, "new")]), CycleCache()
    first = measure(world, NOW)
    assert starts(plan(first, cache)) == []
    moved = replace(world, tree=groups.with_group(replace(groups["a"], parent="q")))
    assert starts(plan(measure(moved, NOW, first), cache)) == ["new entitled"]


def test_share_of_what_is_borrowed_follows_the_nodes() -> None:
    """b's 40 of 100 cpu are more than a's 3 of 10 GPUs, in proportion to weights that are the capacity."""
    full = [running(name, 3, f"{name}-gpu") for name in "abc"] + [running("b", {"cpu": 4}, "b-cpu")]
    hungry = pending("c", 5, "too-large", created=after(-99))
    groups = tree("root\n  a 0 | default:cpu 0\n  b 0 | default:cpu 0\n  c 0 | default:cpu 0")

    def nodes(cpu: int) -> tuple[ClusterNode, ...]:
        return (ClusterNode("node", allocatable={"gpu": 10, "cpu": cpu}),)

    first_heads = [pending("a", {"cpu": 1}, "a-first"), pending("b", {"cpu": 1}, "b-first")]
    world, cache = replace(World.of(groups, PLAIN, [*full, hungry, *first_heads]), nodes=nodes(10)), CycleCache()
    snapshot = measure(world, NOW)
    assert len(starts(plan(snapshot, cache))) == 2
    heads = [pending(name, {"gpu": 1, "cpu": 1}, name, created=after(age)) for name, age in (("a", -1), ("b", -9))]
    changes = [*((each, None) for each in first_heads), *((None, each) for each in heads)]
    later = replace(world.with_changes([*changes, (None, running("b", {"cpu": 36}, "b-more"))]), nodes=nodes(100))
    grown = measure(later, NOW, snapshot)
    assert starts(plan(grown, cache)) == starts(plan(grown)) == ["a opportunistic"]


def test_cycle_evaluates_only_changed_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    class Counted(LeafUsage):
        def __init__(self, leaf: Any, numbers: Any, *started: Any) -> None:
            opened.append(leaf.group.name)
            super().__init__(leaf, numbers, *started)

    groups = "root 200\n" + "\n".join(f"  g{number:02} 4" for number in range(50))
    work = [pending(f"g{number:02}", 2, f"w{number:02}-{each}") for number in range(50) for each in range(5)]
    world, cache = given(groups, work), CycleCache()
    snapshot: Snapshot | None = None
    for _ in range(3):
        snapshot = measure(world, NOW, snapshot)
        world = carry_out(world, plan(snapshot, cache))
    finished = world.workload_sets["g07"].admitted[0]
    snapshot = measure(world.with_changes([(finished, None)]), NOW, snapshot)
    monkeypatch.setattr(usage_module, "LeafUsage", Counted)
    decided = plan(snapshot, cache)
    assert ([each.workload.group for each in decided.starts], opened) == (["g07"], ["g07"])


@pytest.mark.parametrize("minds", [False, True])
def test_what_is_known_of_a_leaf_stays_while_an_edited_flavor_is_answered_alike(minds: bool) -> None:
    """A new label excludes nobody but the one whose node selector says otherwise."""
    placement = Placement(node_selector={"zone": "0"}) if minds else Placement()
    waits = [pending("a", 2, "new", placement=placement), running("b", 8, "other")]
    before = given("a 0\nb 8", waits, capacity=(("default", "gpu", 8),))
    cache, snapshot = CycleCache(), measure(before, NOW)
    plan(snapshot, cache)
    known = cache.leaves["a"]
    steps = known.steps(NOW)
    labelled = replace(before, flavors={**before.flavors, "default": Flavor("default", node_labels={"zone": "1"})})
    later = measure(labelled, NOW, snapshot)
    assert whole(plan(later, cache)) == whole(plan(measure(labelled, NOW)))
    assert cache.leaves["a"].leaf.eligibility.flavors == labelled.flavors
    assert (cache.leaves["a"].steps(NOW) is steps) is not minds
