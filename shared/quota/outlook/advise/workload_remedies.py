"""Remedies that change a workload: the end of another one, or what its owner can write in another way."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from shared.quota.model.eligibility import codependent_sets
from shared.quota.outlook.advise import changes
from shared.quota.outlook.advise.remedy import Remedy, RemedyAction
from shared.quota.outlook.advise.search import Search

MOST_WAITED_FOR: Final = 24
"""How many of the largest holders are tried as a remedy by their end."""


def ends(search: Search) -> Iterator[Remedy]:
    """Yield running workloads, and those before it in its queue, whose end alone would do.

    Evicting one is a remedy only if it does not take its room back when it waits again.
    """
    held = [holder for each in search.explanation.flavors for holder in each.holders]
    holders = sorted(held, key=lambda each: (-each.amount, each.workload.id))
    known = {each.workload.id: each.workload for each in holders[:MOST_WAITED_FOR]}
    known |= {each.id: each for each in search.before_it()[:MOST_WAITED_FOR]}
    doing = [each for each in known.values() if search.starts(partial(changes.without, workload=each))]
    for each in doing:
        yield Remedy(RemedyAction.WAIT_FOR, group=each.group, workload=each.key)
    for each in doing:
        if each.admission is not None and not each.is_evicting and search.runs_after_eviction_of(each):
            yield Remedy(RemedyAction.EVICT, group=each.group, workload=each.key)


def smaller_requests(search: Search) -> Iterator[Remedy]:
    """Request less of one resource in one pod set."""
    for pod_set in search.workload.sets:
        name = pod_set.name if search.workload.pod_sets else ""
        for resource, amount in sorted(pod_set.request.items()):
            less = partial(changes.with_less, workload=search.workload, pod_set=name, resource=resource)
            found = search.least_taken_away(resource, less, amount - 1)
            if found is not None:
                remedy = Remedy(RemedyAction.SHRINK_REQUEST, resource=resource, by=found.number, pod_set=name)
                yield replace(remedy, workload=search.workload.key, is_sure=found.is_sure)


def fewer_pods(search: Search) -> Iterator[Remedy]:
    """Let one pod set have fewer pods, of which each requests what it did."""
    for pod_set in search.workload.sets:
        name = pod_set.name if search.workload.pod_sets else ""
        less = partial(changes.with_fewer_pods, workload=search.workload, pod_set=name)
        by = search.smallest_effect(less, pod_set.pods - 1) if pod_set.pods > 1 else None
        if by is not None:
            yield Remedy(RemedyAction.FEWER_PODS, by=by, pod_set=name, workload=search.workload.key)


def other_flavors(search: Search) -> Iterator[Remedy]:
    """Take a flavor that its owner's label or nodes exclude."""
    workload, leaf = search.workload, search.snapshot.leaves.get(search.workload.group)
    if leaf is None:
        return
    eligible = {name for choice in leaf.options(workload).sets for name in choice.flavors}
    for choice in codependent_sets(leaf.group.quotas):
        for flavor in choice.flavors:
            others = [each for each in choice.flavors if each != flavor]
            moved = partial(changes.in_flavor, workload=workload, flavor=flavor, others=others)
            if flavor not in eligible and search.starts(moved):
                yield Remedy(RemedyAction.OTHER_FLAVOR, flavor=flavor, workload=workload.key)


def allowed_preemption(search: Search) -> Iterator[Remedy]:
    """Let a workload that is not preemptible become preemptible."""
    workload = search.workload
    allowed = partial(changes.with_workload, workload=workload, preemptible=True)
    if not workload.preemptible and search.starts(allowed):
        yield Remedy(RemedyAction.ALLOW_PREEMPTION, workload=workload.key)


def higher_priority(search: Search) -> Iterator[Remedy]:
    """Give it the least priority that does: one that another workload of its leaf has, or one more."""
    workload = search.workload
    others = search.world.workloads_of(workload.group).by_id.values()
    known = {each.priority for each in others if each.priority >= workload.priority}
    tried = sorted({value for each in known for value in (each, each + 1)} - {workload.priority})
    if tried and _starts_with(search, tried[-1]):
        priority = next(value for value in tried if _starts_with(search, value))
        yield Remedy(RemedyAction.RAISE_PRIORITY, workload=workload.key, priority=priority)


def _starts_with(search: Search, priority: int) -> bool:
    return search.starts(partial(changes.with_workload, workload=search.workload, priority=priority))
