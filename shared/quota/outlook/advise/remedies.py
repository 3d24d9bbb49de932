"""What would let a pending workload start: every change that is one number, and whose end would do.

Each is tried in the engine: alone, it lets the next cycles start the workload, and no smaller number does.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.budgets.in_force import is_stopped_by_budget
from shared.quota.model.budgets.raised import stops, with_raised
from shared.quota.model.lifecycle import STARTS_NOTHING
from shared.quota.model.workload import Workload
from shared.quota.outlook.advise import changes
from shared.quota.outlook.advise.capacity_remedies import CapacityRemedies
from shared.quota.outlook.advise.quota_remedies import (
    raised_budget,
    raised_budgets,
    raised_lending_limits,
    raised_maxes,
    raised_mins,
)
from shared.quota.outlook.advise.remedy import Advice, Remedy, RemedyAction
from shared.quota.outlook.advise.search import Search, WorldChange, at_once, in_steps
from shared.quota.outlook.advise.starting import Trial
from shared.quota.outlook.advise.steps import steps_of
from shared.quota.outlook.advise.workload_remedies import (
    allowed_preemption,
    ends,
    fewer_pods,
    higher_priority,
    other_flavors,
    smaller_requests,
)
from shared.quota.outlook.explain.explanation import WorkloadExplanation


def advise(
    snapshot: Snapshot, explanation: WorkloadExplanation, remedies: Callable[[Search], Iterable[Remedy]] | None = None
) -> Advice:
    """Find what lets the workload start, on top of what the snapshot's world does by itself.

    `remedies`: those that are tried, if not all that `explain` tells.

    If it starts in the next cycles anyway there is nothing to do. If it starts later, because a time passes, remedies
    let it start now. What is on hold for another reason than its owner's label has none: the reason says what to do.
    """
    workload, world = explanation.workload, snapshot.world
    later = Trial(workload.id, snapshot, time_passes=True)
    starts_at = later.starts_at(world)
    if not workload.is_pending or workload.hold_reason or starts_at == snapshot.now:
        return Advice(starts_at, ())
    trial = later if starts_at is None else replace(later, time_passes=False)
    steps = tuple(_resumes(snapshot, workload))
    resumes = tuple(each for each, _ in steps)
    worlds = [snapshot.world]
    if steps:
        doing = [step for _, step in steps]
        worlds = [each for each in (at_once(worlds[0], doing), in_steps(trial, worlds[0], doing)) if each is not None]
        if all(map(trial.starts, worlds)):
            return Advice(starts_at, (replace(resumes[-1], also=resumes[:-1]),))
        worlds = [worlds[0], trial.at_rest(worlds[-1])]
    search = Search(snapshot, worlds, trial, explanation)
    tried = (remedies or _remedies)(search)
    found = [each for each in tried if not each.also or search.starts_in_steps(steps_of(each, snapshot))]
    return Advice(starts_at, tuple(replace(each, also=(*resumes, *each.also)) for each in found))


def _resumes(snapshot: Snapshot, workload: Workload) -> Iterator[tuple[Remedy, WorldChange]]:
    """Yield what lets the workload, or a group on its path, start again; and the change of the world."""
    if workload.hold or workload.deactivated:
        resumed = partial(changes.with_resumed, workload=workload, now=snapshot.now)
        yield Remedy(RemedyAction.RESUME, workload=workload.key), resumed
    leaf = snapshot.leaves.get(workload.group)
    for name in leaf.path if leaf is not None and not leaf.may_start else ():
        if name in snapshot.world.tree:
            yield from _openings(snapshot, workload, name)


def _openings(snapshot: Snapshot, workload: Workload, name: str) -> Iterator[tuple[Remedy, WorldChange]]:
    """Yield larger budgets for those that stop the group, and its resumption if it is then still stopped."""
    group = snapshot.world.tree[name]
    plain = changes.as_if_not_spent(snapshot.world, snapshot.now, name)
    for spent in filter(stops, group.spent):
        remedy = raised_budget(snapshot, workload, name, spent)
        if remedy is not None and remedy.budget is not None:
            yield remedy, steps_of(remedy, snapshot)[0]
            group = with_raised(group, plain, remedy.budget)
    if group.stop_policy in STARTS_NOTHING and not is_stopped_by_budget(group):
        yield Remedy(RemedyAction.RESUME, group=name), partial(changes.with_opened, group=name)


def _remedies(search: Search) -> Iterator[Remedy]:
    """Yield every remedy, in the order of `RemedyAction`."""
    capacity = CapacityRemedies(search)
    found = [*raised_mins(search), *raised_maxes(search), *raised_budgets(search), *capacity.alone()]
    yield from found
    if not any(each.do is RemedyAction.ADD_CAPACITY for each in found):
        yield from capacity.together(() if found else capacity.limits())
    yield from capacity.nodes()
    yield from ends(search)
    yield from smaller_requests(search)
    yield from raised_lending_limits(search)
    yield from higher_priority(search)
    yield from allowed_preemption(search)


def owners_remedies(search: Search) -> Iterator[Remedy]:
    """Yield what the owner can write in another way before the workload is submitted."""
    yield from fewer_pods(search)
    yield from smaller_requests(search)
    yield from other_flavors(search)
    yield from higher_priority(search)
    yield from allowed_preemption(search)
