"""Who borrows first is told by steps, without evaluating queues; the same workloads start in the same order."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from shared.quota.decide.decisions import Plan, WaitReason
from shared.quota.decide.plan import plan
from shared.quota.decide.queue.borrowers import Borrowers
from shared.quota.decide.queue.leaf_queue import LeafQueue
from shared.quota.decide.reclaim.swap import Swaps
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.decide.state.equivalence import EquivalenceClasses
from shared.quota.decide.state.known_leaf import KnownLeaf
from shared.quota.decide.state.steps import compute_steps, first_within, has_steps
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Entry, Group, QueueingStrategy, Tree, WhenCanBorrow, WhenCanReclaim
from shared.quota.model.workload import PodSet, Workload
from shared.quota.outlook.simulate.step import advance
from shared.resources import FlavorResource
from tests.builders import NOW, after, pending, running
from tests.prove.random_draw import Dice, Seeded
from tests.prove.worlds.pod_sets import random_pod_sets
from tests.shared.quota.decide.plan_words import given
from tests.trees import tree

FLAVORS = ("a100", "t4")


def _limits(dice: Dice, leaves: int, lending: int) -> tuple[Entry, ...]:
    least = {"cpu": dice.between(1, 3) * 8 * leaves, "gpu": dice.between(1, 3) * leaves}
    most = {resource: 4 * amount for resource, amount in least.items()}
    limit = {resource: amount for resource, amount in least.items() if dice.chance(lending)}
    return tuple(Entry(flavor, min=least, max=most, lending_limit=dict.fromkeys(limit, 0)) for flavor in FLAVORS)


def _tree(dice: Dice) -> Tree:
    groups, lending = [], dice.one_of((0, 0, 20))
    for parent in range(dice.between(2, 5)):
        groups.append(Group(f"p{parent}", is_parent=True, quotas=_limits(dice, 20, 0)))
        for leaf in range(dice.between(1, 6)):
            queueing = dice.one_of(tuple(QueueingStrategy))
            patience = dice.one_of((None, timedelta(), timedelta(seconds=40)))
            quotas, borrow = _limits(dice, 1, lending), dice.one_of(tuple(WhenCanBorrow))
            groups.append(
                Group(
                    f"p{parent}-{leaf}",
                    f"p{parent}",
                    quotas=quotas,
                    queueing=queueing,
                    patience=patience,
                    when_can_borrow=borrow,
                    when_can_reclaim=dice.one_of(tuple(WhenCanReclaim)),
                )
            )
    return Tree.of(groups)


def _job(dice: Dice, leaf: str, number: int) -> Workload:
    request = {"cpu": dice.between(1, 40), "gpu": dice.one_of((1, 1, 2, 4))}
    fields: dict[str, Any] = {"priority": dice.one_of((0, 0, 1)), "preemptible": dice.chance(90)}
    if dice.chance(20):
        fields["only_flavor"] = dice.one_of(FLAVORS)
    work = pending(leaf, request, f"w{number}", created=after(number), **fields)
    return random_pod_sets(dice, work, placed=False) if dice.chance(30) else work


def _world(dice: Dice) -> World:
    tree = _tree(dice)
    leaves = [name for name, group in tree.groups.items() if not group.is_parent]
    work = [_job(dice, dice.one_of(tuple(leaves)), number) for number in range(dice.between(20, 120))]
    capacity = tuple((flavor, resource, 2 * len(leaves) * most) for flavor in FLAVORS for resource, most in _UNITS)
    return World.of(tree, map(Flavor, FLAVORS), work, settings=QuotaSettings(capacity=capacity))


_UNITS = (("cpu", 8), ("gpu", 1))


def _lived_through(dice: Dice) -> Iterator[tuple[Snapshot, datetime]]:
    """Snapshots of a world in which a few workloads end in each cycle."""
    world, snapshot, cache, now = _world(dice), None, CycleCache(), NOW + timedelta(seconds=60)
    for number in range(12):
        snapshot = measure(world, now, snapshot)
        yield snapshot, now
        world = advance(world, plan(snapshot, cache), now)
        running = sorted(
            (each for of in world.workload_sets.values() for each in of.admitted), key=lambda each: each.key
        )
        for place, each in enumerate(running[:: dice.between(2, 9)]):
            new = _job(dice, each.group, 1000 * (number + 1) + place)
            world = world.with_changes([(each, None), (None, new)])
        now += timedelta(seconds=dice.between(1, 20))


@pytest.mark.parametrize("number", range(25))
def test_steps_give_the_same_plan_as_evaluating_every_queue(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, by_steps = CycleCache(), 0
    for snapshot, _ in _lived_through(Seeded(f"predicted {number}")):
        with monkeypatch.context() as patched:
            tried: list[object] = []
            patched.setattr(Borrowers, "_head_at", _recording(Borrowers._head_at, tried))
            found: Plan = plan(snapshot, cache)
        with monkeypatch.context() as patched:
            patched.setattr(KnownLeaf, "steps", lambda *_: None)
            evaluated = plan(snapshot)
        assert found.starts == evaluated.starts
        assert found.evictions == evaluated.evictions
        by_steps += len(tried)
    assert by_steps


def _recording(wrapped: Callable[..., Any], calls: list[object]) -> Callable[..., Any]:
    def called(*arguments: Any) -> Any:
        calls.append(arguments)
        return wrapped(*arguments)

    return called


@pytest.mark.parametrize("number", range(7))
def test_groups_that_are_out_would_have_started_nothing(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    out: list[str] = []
    is_out = Borrowers.is_out

    def recorded(own: Borrowers, group: str) -> bool:
        found = is_out(own, group)
        out.extend([group] * found)
        return found

    for snapshot, _ in _lived_through(Seeded(f"out {number}")):
        with monkeypatch.context() as patched:
            patched.setattr(Borrowers, "is_out", recorded)
            found = plan(snapshot)
        with monkeypatch.context() as patched:
            patched.setattr(Borrowers, "is_out", lambda *_: False)
            everyone = plan(snapshot)
        assert (found.starts, found.evictions) == (everyone.starts, everyone.evictions)
        assert found.end.wait_reasons == everyone.end.wait_reasons
    assert out


@pytest.mark.parametrize("number", [0, 1, 2, 3, 5])
def test_skipping_unaffected_leaves_does_not_change_the_plan(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, coming = CycleCache(), 0
    for snapshot, _ in _lived_through(Seeded(f"coming {number}")):
        passing_over = plan(snapshot, cache)
        with monkeypatch.context() as patched:
            patched.setattr(Swaps, "_may_come_anyway", lambda _, swapping: swapping)
            looking_everywhere = plan(snapshot)
        coming += WaitReason.WAITING_FOR_EVICTIONS in looking_everywhere.end.wait_reasons.values()
        assert passing_over.evictions == looking_everywhere.evictions
        assert passing_over.wake_at == looking_everywhere.wake_at
        assert passing_over.end.wait_reasons == looking_everywhere.end.wait_reasons
    assert coming


def test_one_finished_job_evaluates_few_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    """All leaves borrow equally little, so that only the age of their heads tells who is next."""
    parents, leaves = 20, 20
    groups = "root 800\n" + "\n".join(
        f"  p{parent}/ 40\n" + "\n".join(f"    p{parent}-{leaf} 2" for leaf in range(leaves))
        for parent in range(parents)
    )
    names = [f"p{parent}-{leaf}" for leaf in range(leaves) for parent in range(parents)]
    work = [pending(name, 2 + each, f"{name}-{each}", created=after(each)) for name in names for each in range(4)]
    world, cache = given(groups, work), CycleCache()
    snapshot: Snapshot | None = None
    for _ in range(3):
        snapshot = measure(world, NOW, snapshot)
        world = advance(world, plan(snapshot, cache))
    finished = world.workload_sets["p7-7"].admitted[0]
    snapshot = measure(world.with_changes([(finished, None)]), NOW, snapshot)
    evaluated: list[str] = []

    class Counted(LeafQueue):
        def __init__(self, leaf_usage: Any, *rest: Any) -> None:
            evaluated.append(leaf_usage.name)
            super().__init__(leaf_usage, *rest)

    monkeypatch.setattr("shared.quota.decide.admission.LeafQueue", Counted)
    assert len(plan(snapshot, cache).starts) <= 1
    assert len(evaluated) < 10


def test_workload_that_needs_at_least_as_much_as_an_earlier_one_never_fits_first() -> None:
    cpu = FlavorResource("default", "cpu")
    sizes = (4, 8, 2, 3)
    work = [pending("a", {"cpu": size}, f"w{place}", created=after(place)) for place, size in enumerate(sizes)]
    world = World.of(
        Tree.of([Group("a", quotas=(Entry("default", min={"cpu": 4}, max={"cpu": 10}),))]),
        [Flavor("default")],
        work,
        settings=replace(QuotaSettings(), capacity=(("default", "cpu", 10),)),
    )
    snapshot = measure(world, NOW)
    found = compute_steps(EquivalenceClasses(snapshot.leaves["a"]), snapshot.numbers["a"], NOW)
    (of_cpu,) = found.by_keys
    assert (of_cpu.keys, of_cpu.least, [step.needs for step in of_cpu.steps]) == ((cpu,), (2,), [(4,), (2,)])
    first = first_within(found, {cpu: 3})
    assert first is not None
    assert first.needs == (2,)


def test_non_preemptible_workload_beyond_what_is_promised_is_no_step() -> None:
    work = [
        running("a", 3, "firm", preemptible=False),
        pending("a", 2, "beyond", preemptible=False, created=after(-2)),
        pending("a", 1, "within", preemptible=False),
    ]
    world = given("root 9\n  a 4", work)
    snapshot = measure(world, NOW)
    found = compute_steps(EquivalenceClasses(snapshot.leaves["a"]), snapshot.numbers["a"], NOW)
    assert [step.queue_place for of_keys in found.by_keys for step in of_keys.steps] == [1]


@pytest.mark.parametrize(
    ("patience", "until"),
    [(timedelta(), None), (timedelta(seconds=100), after(70)), (timedelta(seconds=30), after(20))],
    ids=["no patience", "nobody has waited so long", "the first has"],
)
def test_steps_hold_until_the_next_workload_has_waited_for_the_patience(
    patience: timedelta, until: datetime | None
) -> None:
    drawn = tree("root 9\n  a 4")
    drawn = Tree.of(replace(each, patience=patience) if each.name == "a" else each for each in drawn.groups.values())
    work = [pending("a", 2, "first", created=after(-30)), pending("a", 1, "second", created=after(-10))]
    snapshot = measure(given(drawn, work), NOW)
    classes = EquivalenceClasses(snapshot.leaves["a"])
    assert compute_steps(classes, snapshot.numbers["a"], NOW).until == until
    known = KnownLeaf(snapshot.leaves["a"], snapshot.numbers["a"])
    steps = known.steps(NOW)
    if until is not None:
        assert known.steps(until - timedelta(seconds=1)) is steps
        assert known.steps(until) is not steps


@pytest.mark.parametrize(("most", "expected"), [(3, False), (4, True)])
def test_leaf_with_very_many_assignments_has_no_steps(
    most: int, *, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two pod sets in two flavors make four."""
    monkeypatch.setattr("shared.quota.decide.state.steps._MOST_ASSIGNMENTS", most)
    sets = (PodSet("one", {"gpu": 1}), PodSet("two", {"gpu": 2}))
    simple = pending("a", 1, "simple")
    capacity = tuple((flavor, "gpu", 9) for flavor in FLAVORS)
    flavors = tuple(map(Flavor, FLAVORS))
    work = [pending("a", 3, "several", pod_sets=sets), simple]
    world = given("a a100:gpu 9 | t4:gpu 9", work, flavors, capacity=capacity)
    leaf = measure(world, NOW).leaves["a"]
    assert has_steps(leaf, EquivalenceClasses(leaf)) is expected


def test_leaf_that_is_looked_at_late_has_the_head_that_it_had_when_the_pass_began() -> None:
    """When a's first job has started, b's first one does not fit any more; b keeps its place all the same.

    With the place of its next job, b would start that before a's second one, and at the cost of it.
    """
    drawn = (
        "root cpu 9 gpu 7\n  p/ cpu 0 gpu 0\n    a cpu 1 gpu 0\n  q/ cpu 0 gpu 0\n    b cpu 2 gpu 0\n    c cpu 1 gpu 1"
    )
    drawn = re.sub(r"(cpu|gpu)", r"default:\1", drawn)
    ran = (("a", {"cpu": 1}), ("b", {"cpu": 2}), ("b", {"gpu": 1}), ("c", {"cpu": 2}))
    waits = (
        ("a", {"cpu": 4, "gpu": 2}, -8),
        ("a", {"gpu": 4}, -6),
        ("b", {"gpu": 4}, -4),
        ("b", {"cpu": 1, "gpu": 4}, -41),
        ("b", {"cpu": 2, "gpu": 2}, -12),
        ("c", {"cpu": 2, "gpu": 1}, -48),
        ("c", {"cpu": 1, "gpu": 2}, -17),
    )
    work = [running(leaf, request, f"r{number}", since=after(-100)) for number, (leaf, request) in enumerate(ran)]
    work += [pending(leaf, request, f"w{at}", created=after(at)) for leaf, request, at in waits]
    started = plan(measure(given(drawn, work), NOW)).starts
    assert [each.workload.key for each in started] == ["ns/w-8", "ns/w-6"]
