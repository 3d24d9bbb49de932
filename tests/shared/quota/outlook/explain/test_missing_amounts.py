"""The amount that a pending workload lacks is true: with so much more of it, and no less, the limit is not passed.

See docs/specification.md §9.2.
"""

from dataclasses import replace

import pytest

from shared.quota.decide.decisions import WaitExplanation, WaitReason
from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.tree import ROOT, Tree
from shared.quota.model.workload import Workload
from shared.quota.outlook.advise.changes import with_capacity
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.resources import FlavorResource
from tests.builders import NOW, pending, running
from tests.prove.random_draw import Dice, Seeded
from tests.prove.rest.searching import simulate, simulated
from tests.prove.worlds.world import ClosedWorld, random_world
from tests.shared.quota.decide.plan_words import given
from tests.trees import KEY

OF_CAPACITY = (WaitReason.WAITING_FOR_QUOTA, WaitReason.NEVER_FITS)


def why(world: World, workload: Workload) -> WaitExplanation | None:
    return PendingReasons(plan(measure(world, NOW))).why(workload)


def with_more(world: World, key: FlavorResource, by: int) -> World:
    return with_capacity(world, key, measure(world, NOW).capacity[key] + by)


@pytest.mark.parametrize(
    ("groups", "others", "asked", "missing"),
    [
        pytest.param("a 4\nb 8 l0", [], 4, 3, id="what others keep grows with the capacity"),
        pytest.param("a 3\np/ 9\n  b 5 l0\n  c 3 l0", [], 4, 4, id="what groups below others keep as well"),
        pytest.param("a 4\nb 8 l0", [running("a", 2, "x")], 2, 3, id="the same beside a running workload"),
        pytest.param("a 4\nb 4", [running("b", 8, "x", preemptible=False)], 4, 4, id="nothing is kept"),
    ],
)
def test_adding_the_missing_amount_starts_the_workload(
    groups: str, others: list[Workload], asked: int, missing: int
) -> None:
    waiting = pending("a", asked, "new")
    world = given(groups, [*others, waiting], capacity=(("default", "gpu", 8),))
    found = why(world, waiting)

    assert found is not None
    assert (found.binding, found.missing) == (ROOT, missing)
    assert why(with_more(world, KEY, missing), waiting) is None
    again = why(with_more(world, KEY, missing - 1), waiting)
    assert again is not None
    assert (again.binding, again.missing) == (ROOT, 1)


def test_amount_does_not_depend_on_what_was_explained_before() -> None:
    waiting = [pending("a", 2, name) for name in ("one", "two")]
    world = given("a 4\nb 8 l0", [running("a", 2, "x"), *waiting], capacity=(("default", "gpu", 8),))
    decided = plan(measure(world, NOW))
    reasons = PendingReasons(decided)

    for each in (waiting[1], waiting[0], waiting[1]):
        assert reasons.why(each) == PendingReasons(decided).why(each)


def test_unmanaged_use_above_capacity_counts_as_missing() -> None:
    waiting = pending("a", 2, "new")
    world = replace(given("a 4", [waiting], capacity=(("default", "gpu", 8),)), unmanaged={KEY: 11})
    found = why(world, waiting)

    assert found is not None
    assert (found.binding, found.missing) == (ROOT, 5)
    assert why(with_more(world, KEY, 5), waiting) is None


@pytest.mark.parametrize("number", range(12))
def test_missing_capacity_is_exact_in_random_worlds(number: int) -> None:
    dice = Seeded(f"missing {number}")
    for world, waiting in _waiting_alone(dice):
        found = why(world, waiting)
        if found is None or found.reason not in OF_CAPACITY or found.binding != ROOT:
            continue
        key = FlavorResource(found.flavor, found.resource)
        assert found.missing > 0
        assert not _still(with_more(world, key, found.missing), waiting, found)
        assert why(with_more(world, key, found.missing - 1), waiting) is not None


def _still(world: World, workload: Workload, message: WaitExplanation) -> bool:
    """Whether it waits for the same; NeverFits is about what it could get when nothing else runs."""
    found = why(world, workload)
    return found is not None and (found.reason, found.binding, found.flavor, found.resource) == (
        message.reason,
        message.binding,
        message.flavor,
        message.resource,
    )


def _waiting_alone(dice: Dice) -> list[tuple[World, Workload]]:
    """Worlds at rest in which one workload waits, and most groups keep what they were promised."""
    found = []
    for _ in range(5):
        drawn = simulated(_short(dice, random_world(dice)))
        *_, last = simulate(drawn)
        waiting = [each for leaf in last.snapshot.leaves.values() for each in leaf.pending]
        for workload in waiting:
            others = [(each, None) for each in waiting if each is not workload]
            found.append((last.snapshot.world.with_changes(others), workload))
    return found


def _short(dice: Dice, world: ClosedWorld) -> ClosedWorld:
    groups = []
    for group in world.tree.groups.values():
        entries = tuple(
            replace(each, lending_limit={name: dice.between(0, amount // 3) for name, amount in each.min.items()})
            if dice.chance(70)
            else each
            for each in group.quotas
        )
        groups.append(replace(group, quotas=entries))
    capacity = {key: max(1, amount * dice.one_of((40, 60, 80)) // 100) for key, amount in world.capacity.items()}
    return replace(world, tree=Tree.of(groups), capacity=capacity)
