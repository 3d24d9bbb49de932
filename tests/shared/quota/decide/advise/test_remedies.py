"""Every remedy is true and minimal: the change is made here, in other words than the engine, and the start is seen."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from shared.quota.decide.advise.json_output import remedy_as_data
from shared.quota.decide.advise.remedies import Remedy, RemedyAction, advise
from shared.quota.decide.explain.explanation import WorkloadExplanation, explain
from shared.quota.decide.explain.pending_reasons import PendingReasons
from shared.quota.decide.plan import plan
from shared.quota.decide.simulate import run as simulate
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model import rules
from shared.quota.model.settings import QuotaSettings, ReclaimSettings
from shared.quota.model.tree import Entry, ReclaimOverrides, StopPolicy, Tree
from shared.quota.model.workload import Workload
from tests.builders import NOW, pending, running, world
from tests.prove.random_draw import Seeded
from tests.prove.worlds import random_world
from tests.shared.quota.reference_inputs import EPOCH

NUMBERS = frozenset({RemedyAction.RAISE_MIN, RemedyAction.RAISE_MAX, RemedyAction.ADD_CAPACITY})
SEEDS = range(24)


def drawn(seed: int) -> World:
    """A random world without delays, so that nothing starts by the passing of time."""
    found = random_world(Seeded(seed))
    given = tuple((*key, amount) for key, amount in found.capacity.items())
    settings = QuotaSettings(reclaim=ReclaimSettings(mode=found.settings.reclaim.mode), capacity=given)
    groups = (replace(each, reclaim=ReclaimOverrides()) for each in found.tree.groups.values())
    return World.of(Tree.of(groups), found.flavors, (life.work for life in found.lives), settings=settings)


def starts(of: World, workload: Workload, now: datetime) -> bool:
    """Whether the workload starts in the next cycles."""
    done = simulate.run(of, now, limit=100)
    return any(start.workload.key == workload.key for cycle in done.plans for start in cycle.starts)


def waiting(of: World, now: datetime) -> Iterator[tuple[WorkloadExplanation, tuple[Remedy, ...]]]:
    """Every pending workload with its remedies."""
    snapshot = measure(of, now)
    decided = plan(snapshot)
    for each in PendingReasons(decided):
        explanation = explain(snapshot, decided, each.workload)
        yield explanation, advise(snapshot, explanation).remedies


def done(of: World, waits: Workload, remedy: Remedy, less: int = 0) -> World:
    """The world after the remedy, or after `less` less of it."""
    for each in remedy.also:
        of = done(of, waits, each)
    by = remedy.by - less
    if remedy.do is RemedyAction.ADD_CAPACITY:
        capacity = {(flavor, name): amount for flavor, name, amount in of.settings.capacity}
        capacity[remedy.flavor, remedy.resource] = capacity.get((remedy.flavor, remedy.resource), 0) + by
        given = tuple((*key, amount) for key, amount in capacity.items())
        return replace(of, settings=replace(of.settings, capacity=given))
    if remedy.do in (RemedyAction.RAISE_MIN, RemedyAction.RAISE_MAX):
        return replace(of, tree=raised(of.tree, remedy, by))
    if remedy.do is RemedyAction.RESUME and remedy.group:
        opened = replace(of.tree[remedy.group], stop_policy=StopPolicy.NONE)
        return replace(of, tree=of.tree.with_group(opened))
    everyone = [each for found in of.workload_sets.values() for each in found.by_id.values()]
    (named,) = [each for each in everyone if each.key == remedy.workload]
    changed: dict[RemedyAction, Workload | None] = {
        RemedyAction.WAIT_FOR: None,
        RemedyAction.EVICT: None,
        RemedyAction.RESUME: replace(named, hold=False, deactivated=False),
        RemedyAction.SHRINK_REQUEST: shrunk(named, remedy.resource, by),
    }
    left = [each for each in everyone if each is not named]
    now = changed[remedy.do]
    return World.of(of.tree, of.flavors.values(), [*left, *([now] if now else [])], of.nodes, of.settings)


def shrunk(workload: Workload, resource: str, by: int) -> Workload:
    return replace(workload, request={**workload.request, resource: workload.request.get(resource, 0) - by})


def raised(of: Tree, remedy: Remedy, by: int) -> Tree:
    group = of[remedy.group]

    def entry(each: Entry) -> Entry:
        if each.flavor != remedy.flavor:
            return each
        if remedy.do is RemedyAction.RAISE_MIN:
            return replace(each, min={**each.min, remedy.resource: each.min.get(remedy.resource, 0) + by})
        return replace(each, max={**each.max, remedy.resource: each.max[remedy.resource] + by})

    return of.with_group(replace(group, quotas=tuple(map(entry, group.quotas))))


def violations(of: World) -> set[tuple[str, str, str]]:
    found = rules.check_tree(of.tree, rules.Context(flavors=of.flavors)).violations
    return {(each.rule, each.object, each.field) for each in found}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_remedy_is_true_legal_and_minimal(seed: int) -> None:
    given = drawn(seed)
    for explanation, remedies in waiting(given, EPOCH):
        workload = explanation.workload
        for remedy in remedies:
            after = done(given, workload, remedy)
            assert starts(after, workload, EPOCH), remedy_as_data(remedy)
            assert violations(after) <= violations(given)
            if remedy.do in NUMBERS:
                smaller = [done(given, workload, remedy, less) for less in range(1, remedy.by) if not remedy.also]
                assert not any(starts(each, workload, EPOCH) for each in smaller), remedy_as_data(remedy)
        if starts(given, workload, EPOCH):
            assert remedies == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_every_number_that_would_do_is_listed(seed: int) -> None:
    given = drawn(seed)
    for explanation, remedies in waiting(given, EPOCH):
        workload = explanation.workload
        if starts(given, workload, EPOCH):
            continue
        listed = {(each.flavor, each.resource) for each in remedies if each.do is RemedyAction.ADD_CAPACITY}
        listed |= {(each.flavor, each.resource) for remedy in remedies for each in remedy.also}
        for flavor, resource, _ in given.settings.capacity:
            some = [Remedy(RemedyAction.ADD_CAPACITY, flavor=flavor, resource=resource, by=by) for by in (1, 2, 4, 60)]
            if any(starts(done(given, workload, each), workload, EPOCH) for each in some):
                assert (flavor, resource) in listed


ROOT_MAX = {"do": "RaiseMax", "group": "root", "flavor": "default", "resource": "gpu", "by": 1}


def remedies_of(of: World, name: str) -> list[dict[str, Any]]:
    snapshot = measure(of, NOW)
    decided = plan(snapshot)
    (found,) = [each.workload for each in PendingReasons(decided) if each.workload.key == f"ns/{name}"]
    return [remedy_as_data(each) for each in advise(snapshot, explain(snapshot, decided, found)).remedies]


def test_min_is_raised_together_with_the_ancestors_whose_sum_it_would_exceed() -> None:
    given = world("root 8\n  a 4\n    b 4\n  c", [running("c", 3), pending("b", 5, "new", preemptible=False)])
    found = remedies_of(given, "new")
    key = {"flavor": "default", "resource": "gpu"}
    parent = {"do": "RaiseMin", "group": "a", **key, "by": 1}
    assert [each for each in found if each["do"] == "RaiseMin"] == [
        {"do": "RaiseMin", "group": "b", **key, "by": 1, "and": [parent]}
    ]


def test_what_is_held_and_has_no_room_needs_both() -> None:
    given = world("root 4\n  a 4", [running("a", 4, "other"), pending("a", 1, "new", hold=True)])
    resume = {"do": "Resume", "workload": "ns/new"}
    assert remedies_of(given, "new")[0] == {
        "do": "AddCapacity", "flavor": "default", "resource": "gpu", "by": 1, "and": [ROOT_MAX, resume],
    }  # fmt: skip


def test_a_stopped_group_is_resumed() -> None:
    given = world("root 4\n  a/ 4 hold\n    b 4", [pending("b", 1, "new")])
    assert remedies_of(given, "new") == [{"do": "Resume", "group": "a"}]


def test_what_starts_anyway_needs_nothing() -> None:
    given = world("root 4\n  a 4\n  b", [running("b", 4, "other"), pending("a", 1, "new")])
    assert remedies_of(given, "new") == []


def test_a_workload_that_is_not_preemptible_lacks_min() -> None:
    given = world("root 8\n  a 2\n  b 4", [pending("a", 3, "new", preemptible=False)])
    found = remedies_of(given, "new")
    assert {"do": "RaiseMin", "group": "a", "flavor": "default", "resource": "gpu", "by": 1} in found
    assert {each["do"] for each in found} == {"RaiseMin", "ShrinkRequest"}


def test_amounts_too_large_to_scan_are_found_exactly() -> None:
    size = 1 << 30
    given = world(f"root {4 * size}\n  a {4 * size}", [running("a", 3 * size, "other"), pending("a", size + 77, "new")])
    found = remedies_of(given, "new")
    assert {"do": "ShrinkRequest", "resource": "gpu", "by": 77, "workload": "ns/new"} in found
    assert {each["by"] for each in found if each["do"] == "AddCapacity"} == {77}
