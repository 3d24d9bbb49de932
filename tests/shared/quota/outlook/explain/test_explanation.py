"""A plan is data: what it explains does not depend on when it is asked, or on what was planned since."""

from dataclasses import FrozenInstanceError, replace
from datetime import timedelta

import pytest

from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.workload import PodSet
from shared.quota.outlook.explain.explanation import BindingLimit, MissingRuntime, WorkloadExplanation, explain
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.simulate.step import advance
from tests.builders import NOW, claimed, evicting, pending, running
from tests.prove.random_draw import Seeded
from tests.prove.worlds.world import random_world
from tests.shared.quota.decide.plan_words import decide, given
from tests.trees import GPU


def _explanations(snapshot: Snapshot, decided: Plan) -> list[WorkloadExplanation]:
    return [explain(snapshot, decided, each) for leaf in snapshot.leaves.values() for each in leaf.pending]


def _random_world(number: int) -> World:
    closed = random_world(Seeded(f"data {number}"))
    capacity = tuple((key.flavor, key.resource, amount) for key, amount in closed.capacity.items())
    work = [each.work for each in closed.lives]
    return World.of(closed.tree, closed.flavors, work, settings=replace(closed.settings, capacity=capacity))


@pytest.mark.parametrize("number", range(20))
def test_explanation_of_a_plan_is_unchanged_by_later_cycles(number: int) -> None:
    world, cache, now = _random_world(number), CycleCache(), NOW
    snapshot: Snapshot | None = None
    explained = []
    for _ in range(5):
        snapshot = measure(world, now, snapshot)
        decided = plan(snapshot, cache)
        explained.append((snapshot, decided, list(PendingReasons(decided)), _explanations(snapshot, decided)))
        world, now = advance(world, decided), now + timedelta(minutes=1)
    for then, decided, reasons, explanations in explained:
        assert list(PendingReasons(decided)) == reasons
        assert _explanations(then, decided) == explanations


def test_equal_worlds_give_equal_plans() -> None:
    groups, work = "root 8\n  a 4\n  b 4", [running("b", 8, "x"), pending("a", 4, "new"), pending("b", 1, "y")]
    assert decide(groups, work) == decide(groups, work)


def test_plan_is_immutable() -> None:
    world = given("root 8\n  a 4\n  b 4", [running("b", 8, "x"), pending("a", 4, "new")])
    decided = plan(measure(world, NOW))
    end = decided.end
    assert [each.key for each in end.wait_reasons] == ["ns/new"]
    assert end.planned != end.current
    with pytest.raises(FrozenInstanceError):
        end.blocked_by = None  # type: ignore[misc]
    for part in (end.current, end.after_evictions, end.planned, end.leaves, end.wait_reasons, end.blocked_leaves):
        with pytest.raises(TypeError):
            part["a"] = None  # type: ignore[index]
    for sums in end.leaves.values():
        with pytest.raises(TypeError):
            sums.used["a"] = 1  # type: ignore[index]


def explained(found: World, name: str) -> WorkloadExplanation:
    snapshot = measure(found, NOW)
    decided = plan(snapshot)
    (waits,) = [each.workload for each in PendingReasons(decided) if each.workload.key == f"ns/{name}"]
    return explain(snapshot, decided, waits)


def test_use_of_a_leaf_without_entitlement_includes_claims() -> None:
    claims = pending("a", 2, "claims", priority=1)
    work = [running("a", 1, "x"), claims, claimed(evicting(running("b", 2, "leaves")), claims)]
    found = given("root 8\n  a 4 w0\n  b 4", [*work, running("b", 4, "y"), pending("a", 2, "new")])
    (flavor,) = explained(found, "new").flavors
    assert flavor.entitlement == MissingRuntime("a", GPU, missing=1, used=3, runtime=4, min=4)


def test_flavor_of_a_pod_set_is_judged_with_what_the_other_sets_take_of_it() -> None:
    sets = (PodSet("one", {GPU: 1}), PodSet("two", {GPU: 3}))
    work = [running("a", 3, "x", "x"), running("a", 5, "y", "y"), pending("a", 4, "new", pod_sets=sets)]
    groups = "root x:gpu 6 | y:gpu 5\n  a x:gpu 6 | y:gpu 5"
    found = explained(given(groups, work, (Flavor("x"), Flavor("y"))), "new")
    missing = {(each.pod_set, each.flavor): each.binding and each.binding.missing for each in found.flavors}
    assert missing == {("one", "x"): 1, ("one", "y"): 1, ("two", "x"): 1, ("two", "y"): 3}


@pytest.mark.parametrize(
    ("limits", "limit", "missing"),
    [
        ("4..4", BindingLimit.EFFECTIVE_MIN, 2),
        ("5..4", BindingLimit.CEILING, 2),
        ("3..4", BindingLimit.EFFECTIVE_MIN, 3),
    ],
)
def test_work_that_is_not_preemptible_is_refused_by_the_tighter_limit_of_its_leaf(
    limits: str, limit: BindingLimit, missing: int
) -> None:
    (flavor,) = explained(given(f"root 8\n  a {limits}", [pending("a", 6, "new", preemptible=False)]), "new").flavors
    assert flavor.binding is not None
    assert (flavor.binding.group, flavor.binding.limit, flavor.binding.missing) == ("a", limit, missing)


def test_work_that_is_not_preemptible_waits_for_effective_min_beside_its_like() -> None:
    work = [running("a", 2, "x", preemptible=False), pending("a", 3, "new", preemptible=False)]
    (flavor,) = explained(given("root 8\n  a 4", work), "new").flavors
    assert flavor.binding is not None
    assert (flavor.binding.limit, flavor.binding.missing) == (BindingLimit.EFFECTIVE_MIN, 1)
