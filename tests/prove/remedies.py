"""`python -m tests.prove.remedies`: is every remedy of random worlds true, legal and minimal, and is none left out?

Each change is made here in other words than the engine's, and the start is seen in a simulation: with all that the
remedy requires at once, and one after another with cycles between. In every other world a group is on hold, in every
third one budgets of one or two groups are spent, in every fifth one nodes have the capacity. Exit code 1 when one is
not. The same is tested for a few worlds in `tests/shared/quota/outlook/advise/test_remedies.py`.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from random import Random

from shared.api.names import WORKLOAD_COUNT
from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.measure.static.node_shapes import largest_nodes
from shared.quota.model import rules
from shared.quota.model.budgets.in_force import tree_with_spent
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import QuotaSettings, ReclaimSettings
from shared.quota.model.tree import BUILT_IN, Entry, ReclaimOverrides, StopPolicy, Tree
from shared.quota.model.workload import Workload
from shared.quota.outlook.advise.json_output import remedy_as_data
from shared.quota.outlook.advise.remedies import advise
from shared.quota.outlook.advise.remedy import Remedy, RemedyAction
from shared.quota.outlook.advise.search import keys_of
from shared.quota.outlook.explain.explanation import WorkloadExplanation, explain
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.simulate import run as simulate
from shared.quota.outlook.simulate.step import evicting_in
from tests.prove.random_draw import Seeded
from tests.prove.seeded import checked
from tests.prove.spent_budgets import lasts_an_hour, random_budgets, used_of
from tests.prove.worlds.world import random_world
from tests.shared.quota.reference.inputs import EPOCH

NUMBERS = frozenset(
    {RemedyAction.RAISE_MIN, RemedyAction.RAISE_MAX, RemedyAction.ADD_CAPACITY, RemedyAction.RAISE_LENDING_LIMIT}
)
LIMITS = NUMBERS | {RemedyAction.RAISE_BUDGET, RemedyAction.RESUME, RemedyAction.ADD_NODE}


def drawn(seed: int) -> World:
    """A random world without delays, so that nothing starts by the passing of time."""
    found = random_world(Seeded(seed))
    given = tuple((*key, amount) for key, amount in found.capacity.items())
    reclaim = ReclaimSettings(mode=found.settings.reclaim.mode)
    settings = QuotaSettings(reclaim=reclaim, capacity=given, queueing_patience=None)
    groups = {name: replace(each, reclaim=ReclaimOverrides()) for name, each in found.tree.groups.items()}
    if seed % 2:
        name = Random(seed).choice(sorted(groups.keys() - BUILT_IN))
        groups[name] = replace(groups[name], stop_policy=StopPolicy.HOLD)
    budgets = random_budgets(Random(seed), groups) if seed % 3 == 0 else {}
    for name, own in budgets.items():
        groups[name] = replace(groups[name], budgets=tuple(each.budget for each in own))
    world = World.of(Tree.of(groups.values()), found.flavors, (life.work for life in found.lives), settings=settings)
    if seed % 5 == 4:
        world = _with_nodes(world, Random(seed))
    return replace(world.with_spent(budgets), budgets_used={name: used_of(own) for name, own in budgets.items()})


def _with_nodes(of: World, dice: Random) -> World:
    """The same world, whose capacity one or two alike nodes of each flavor have."""
    flavors = [Flavor(name, node_labels={"flavor": name}) for name in of.flavors]
    nodes = []
    for flavor in flavors:
        number = dice.randint(1, 2)
        size = {name: amount // number for own, name, amount in of.settings.capacity if own == flavor.name}
        nodes += [ClusterNode(f"{flavor.name}-{each}", flavor.node_labels, size) for each in range(number)]
    everyone = [each for found in of.workload_sets.values() for each in found.by_id.values()]
    return World.of(of.tree, flavors, everyone, nodes, replace(of.settings, capacity=()))


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
        on_nodes = [each for each in of.nodes if each.labels == of.flavors[remedy.flavor].node_labels]
        there = sum(each.allocatable.get(remedy.resource, 0) for each in on_nodes)
        capacity[remedy.flavor, remedy.resource] = capacity.get((remedy.flavor, remedy.resource), there) + by
        given = tuple((*key, amount) for key, amount in capacity.items())
        # What is added has no larger nodes than there are.
        return replace(of, settings=replace(of.settings, capacity=given), largest_nodes=largest_nodes(of))
    if remedy.do is RemedyAction.ADD_NODE:
        (like,) = [each for each in of.nodes if each.name == remedy.like]
        added = (replace(like, name=f"{like.name}-more-{len(of.nodes)}-{each}") for each in range(by))
        return replace(of, nodes=(*of.nodes, *added), largest_nodes=None)
    written = of.written or of.tree
    if remedy.do in (RemedyAction.RAISE_MIN, RemedyAction.RAISE_MAX, RemedyAction.RAISE_LENDING_LIMIT):
        return edited(of, raised(written, remedy, by))
    if remedy.do is RemedyAction.RESUME and remedy.group:
        return edited(of, written.with_group(replace(written[remedy.group], stop_policy=StopPolicy.NONE)))
    if remedy.budget is not None:
        spent = tuple(each for each in of.spent[remedy.group] if each.budget.identity != remedy.budget.identity)
        return edited(replace(of, spent={**of.spent, remedy.group: spent}), written)
    everyone = [each for found in of.workload_sets.values() for each in found.by_id.values()]
    (named,) = [each for each in everyone if each.key == remedy.workload]
    changed: dict[RemedyAction, Workload | None] = {
        RemedyAction.WAIT_FOR: None,
        RemedyAction.EVICT: None,
        RemedyAction.RESUME: replace(named, hold=False, deactivated=False, queued=max(named.queued, EPOCH)),
        RemedyAction.RAISE_PRIORITY: replace(named, priority=remedy.priority or 0),
        RemedyAction.ALLOW_PREEMPTION: replace(named, preemptible=True),
        RemedyAction.SHRINK_REQUEST: shrunk(named, remedy.resource, by),
    }
    left = [each for each in everyone if each is not named]
    now = changed[remedy.do]
    return with_workloads(of, [*left, *([now] if now else [])])


def with_workloads(of: World, workloads: list[Workload]) -> World:
    found = World.of(of.tree, of.flavors.values(), workloads, of.nodes, of.settings)
    return replace(found, written=of.written, spent=of.spent)


def edited(of: World, written: Tree) -> World:
    """The world after an edit of what is written; what follows from budgets that are still spent goes on."""
    return replace(of, tree=tree_with_spent(written, of.spent), written=written)


def shrunk(workload: Workload, resource: str, by: int) -> Workload:
    return replace(workload, request={**workload.request, resource: workload.request.get(resource, 0) - by})


def raised(of: Tree, remedy: Remedy, by: int) -> Tree:
    group = of[remedy.group]

    def entry(each: Entry) -> Entry:
        if each.flavor != remedy.flavor:
            return each
        if remedy.do is RemedyAction.RAISE_MIN:
            return replace(each, min={**each.min, remedy.resource: each.min.get(remedy.resource, 0) + by})
        if remedy.do is RemedyAction.RAISE_LENDING_LIMIT:
            least = each.min.get(remedy.resource, 0)
            lent = each.lending_limit.get(remedy.resource, least if group.allow_lending else 0)
            return replace(each, lending_limit={**each.lending_limit, remedy.resource: lent + by})
        return replace(each, max={**each.max, remedy.resource: each.max[remedy.resource] + by})

    return of.with_group(replace(group, quotas=tuple(map(entry, group.quotas))))


def starts_in_steps(of: World, waits: Workload, remedy: Remedy) -> bool:
    """Whether the workload starts if the cluster comes to rest between the changes."""
    for each in remedy.also:
        of = at_rest(done(of, waits, each))
    if remedy.do is RemedyAction.ADD_NODE:
        return starts_beside_nodes(of, waits, replace(remedy, by=1, also=()), remedy.by)
    return starts(done(of, waits, replace(remedy, also=())), waits, EPOCH)


def starts_beside_nodes(of: World, waits: Workload, one: Remedy, number: int) -> bool:
    """Whether the workload starts beside one of so many nodes that join one by one."""
    for _ in range(number):
        of = done(of, waits, one)
        if starts(of, waits, EPOCH):
            return True
        of = at_rest(of)
    return False


def at_rest(of: World) -> World:
    """The world after cycles in which nothing more happens before a time passes."""
    for _ in range(50):
        lived = simulate.run(of, EPOCH, cycles=2)
        of = lived.world
        if all(each.is_idle for each in lived.plans) and not evicting_in(of):
            break
    return of


def runs_after_eviction(of: World, waits: Workload, remedy: Remedy) -> bool:
    """Whether the workload still runs when the evicted one, held at first, waits again."""
    for each in remedy.also:
        of = done(of, waits, each)
    for changed in ({"admission": None, "hold": True}, {"hold": False, "queued": EPOCH}):
        everyone = [each for found in of.workload_sets.values() for each in found.by_id.values()]
        now = [replace(each, **changed) if each.key == remedy.workload else each for each in everyone]
        of = with_workloads(of, now)
        of = simulate.run(of, EPOCH, limit=100).world
    everyone = [each for found in of.workload_sets.values() for each in found.by_id.values()]
    return any(each.key == waits.key and each.admission is not None for each in everyone)


def violations(of: World) -> set[tuple[str, str, str]]:
    found = rules.check_tree(of.tree, rules.Context(flavors=of.flavors)).violations
    return {(each.rule, each.object, each.field) for each in found}


def check(seed: int) -> tuple[int, list[str]]:
    """Return how many remedies the world of that seed has, and what is wrong with them."""
    given = drawn(seed)
    every = list(waiting(given, EPOCH))
    count = sum(len(remedies) for _, remedies in every)
    return count, [f"world {seed}: {found}" for each in every for found in _wrong(given, *each)]


def _wrong(given: World, explanation: WorkloadExplanation, remedies: tuple[Remedy, ...]) -> Iterator[str]:
    workload = explanation.workload
    if starts(given, workload, EPOCH):
        if remedies:
            yield f"{workload.key} starts anyway, and has remedies"
        return
    for remedy in remedies:
        message = f"{workload.key}: {remedy_as_data(remedy)}"
        after = done(given, workload, remedy)
        if not starts(after, workload, EPOCH):
            yield f"not true: {message}"
        if remedy.do is RemedyAction.EVICT and not runs_after_eviction(given, workload, remedy):
            yield f"not for long: {message}"
        larger = [each for each in (*remedy.also, remedy) if each.budget is not None]
        if not all(each.budget and lasts_an_hour(given, workload, each.group, each.budget) for each in larger):
            yield f"not the least hours that last an hour: {message}"
        if not starts_in_steps(given, workload, remedy):
            yield f"not true in steps: {message}"
        if not violations(after) <= violations(given):
            yield f"not legal: {message}"
        is_least = remedy.do in NUMBERS and not remedy.also and remedy.is_sure
        smaller = range(1, remedy.by) if is_least else ()
        if any(starts(done(given, workload, remedy, less), workload, EPOCH) for less in smaller):
            yield f"not minimal: {message}"
        if remedy.also:
            yield from (f"not minimal: {message}, but {each}" for each in _smaller(given, workload, remedy))
    yield from _left_out(given, workload, remedies)


def _left_out(given: World, workload: Workload, remedies: tuple[Remedy, ...]) -> Iterator[str]:
    """Yield changes that would do, of which no remedy says anything."""
    with_larger = edited(replace(given, spent={}), given.written or given.tree)
    named = {each.do for remedy in remedies for each in (*remedy.also, remedy)}
    if RemedyAction.RAISE_BUDGET not in named and starts(with_larger, workload, EPOCH):
        yield f"left out: {workload.key}: larger budgets"
    listed = {(each.flavor, each.resource) for each in remedies if each.do is RemedyAction.ADD_CAPACITY}
    listed |= {(each.flavor, each.resource) for remedy in remedies for each in remedy.also}
    for flavor, resource, _ in given.settings.capacity:
        some = [Remedy(RemedyAction.ADD_CAPACITY, flavor=flavor, resource=resource, by=by) for by in (1, 2, 4, 60)]
        would_do = any(starts(done(given, workload, each), workload, EPOCH) for each in some)
        if would_do and (flavor, resource) not in listed:
            yield f"left out: {workload.key}: more of {flavor}/{resource}"
    if not named & LIMITS and starts(_with_all_raised(given, workload), workload, EPOCH):
        yield f"left out: {workload.key}: larger limits and more capacity"


def _smaller(given: World, workload: Workload, remedy: Remedy) -> Iterator[str]:
    """Yield amounts of a remedy with several that could be less by one, and still do at once and in steps."""
    parts: list[Remedy] = [*remedy.also, remedy]
    if not all(each.do in NUMBERS and each.is_sure for each in parts):
        return
    if all(each.do is RemedyAction.RAISE_MIN for each in parts):
        return  # each parent's min grows by what its children's sum then exceeds it
    for place, each in enumerate(parts):
        smaller = parts.copy()
        smaller[place] = replace(each, by=each.by - 1)
        less = replace(smaller[-1], also=tuple(smaller[:-1]))
        if (
            each.by > 1
            and starts(done(given, workload, less), workload, EPOCH)
            and starts_in_steps(given, workload, less)
        ):
            yield f"{each.do} of {each.group or 'capacity'} by {each.by - 1} would do"


def _with_all_raised(of: World, waits: Workload) -> World:
    """The world with much more of all that the workload could take, and larger maxes on its path."""
    for flavor, resource in keys_of(of.tree, waits):
        if resource != WORKLOAD_COUNT:
            of = done(of, waits, Remedy(RemedyAction.ADD_CAPACITY, flavor=flavor, resource=resource, by=60))
        for group in of.tree.path(waits.group):
            entry = of.tree[group].entry(flavor)
            if entry is not None and resource in entry.max:
                of = done(of, waits, Remedy(RemedyAction.RAISE_MAX, group, flavor, resource, by=60))
    return of


if __name__ == "__main__":
    sys.exit(checked("tests.prove.remedies", __doc__, check, "remedies"))
