"""Remedies that change a workload: the end of another one, or a smaller request of its own."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from shared.quota.decide.advise import changes
from shared.quota.decide.advise.remedy import Remedy, RemedyAction
from shared.quota.decide.advise.search import Search
from shared.quota.measure.inputs.world import World
from shared.resources import Amount

MOST_WAITED_FOR: Final = 24
"""How many of the largest holders are tried as a remedy by their end."""


def ends(search: Search) -> Iterator[Remedy]:
    """Yield running workloads, and those before it in its queue, whose end alone would do."""
    held = [holder for each in search.explanation.flavors for holder in each.holders]
    holders = sorted(held, key=lambda each: (-each.amount, each.workload.id))
    known = {each.workload.id: each.workload for each in holders[:MOST_WAITED_FOR]}
    known |= {each.id: each for each in search.before_it()[:MOST_WAITED_FOR]}
    doing = [each for each in known.values() if search.starts(changes.without(search.world, each))]
    for each in doing:
        yield Remedy(RemedyAction.WAIT_FOR, group=each.group, workload=each.key)
    for each in doing:
        if each.admission is not None and not each.is_evicting:
            yield Remedy(RemedyAction.EVICT, group=each.group, workload=each.key)


def smaller_requests(search: Search) -> Iterator[Remedy]:
    """Request less of one resource in one pod set."""
    for pod_set in search.workload.sets:
        name = pod_set.name if search.workload.pod_sets else ""
        for resource, amount in sorted(pod_set.request.items()):
            less = partial(_with_less, search, name, resource)
            by = search.smallest_effect(less, amount - 1, search.unit(resource))
            if by is not None:
                remedy = Remedy(RemedyAction.SHRINK_REQUEST, resource=resource, by=by, workload=search.workload.key)
                yield replace(remedy, pod_set=name)


def _with_less(search: Search, pod_set: str, resource: str, by: Amount) -> World:
    workload = search.workload
    return changes.with_workload(search.world, workload, changes.with_less(workload, pod_set, resource, by))
