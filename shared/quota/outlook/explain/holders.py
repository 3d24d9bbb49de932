"""Who holds what a pending workload waits for, and whether it can be recycled for it. docs/specification.md §7."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from shared.quota.decide.decisions import EvictionRule
from shared.quota.decide.reclaim.notices.notice import evict_at, is_early
from shared.quota.decide.reclaim.victim_search import EvictionDelays, VictimSearch, graced_until
from shared.quota.decide.recycling_order import RunningWorkload, freed_by
from shared.quota.decide.state.eviction_plan import Victim
from shared.quota.decide.state.leaf_usage import LeafUsage, flavors_of, running_workload, started
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import quantities_of
from shared.quota.model.tree import ROOT, Preemption
from shared.quota.model.workload import EvictionReason, Workload
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True)
class Holder:
    """A workload that uses a key: how much, how much of that its leaf borrows, and why it stays, if it does.

    `because`: Evicting, NotPreemptible, ExemptAfterStart, NotLowerPriority, PreemptionNever, Inactive, WithinRuntime,
    NotEntitled, OnClosedNodes, GracePeriod, Notice or NotAnswered; empty if it can be recycled.
    """

    workload: Workload
    amount: Amount
    borrowed: Amount
    because: str = ""
    until: datetime | None = None
    """When a delay alone stops keeping it."""

    @property
    def recyclable(self) -> bool:
        """Whether it could be evicted for the workload that waits."""
        return not self.because


class Waiting(NamedTuple):
    """A pending workload, and whether it is entitled in the flavor that it is explained for."""

    workload: Workload
    entitled: bool


def holders_of(usage: RoundUsage, group: str, key: FlavorResource, waiting: Waiting) -> list[Holder]:
    """Return the workloads below `group` that use `key`, the largest first."""
    tree = usage.snapshot.world.tree
    leaves = (name for name in tree.leaves_below(group) if name in usage.snapshot.leaves)
    found = [holder for leaf in leaves for holder in _in_leaf(usage, usage.leaf(leaf), key, waiting)]
    if group == ROOT:
        found = [_unless_on_closed_nodes(each, key) for each in found]
    return sorted(found, key=lambda each: (-each.amount, each.workload.id))


def _unless_on_closed_nodes(holder: Holder, key: FlavorResource) -> Holder:
    """Return the holder; that what the cluster is short of would not get free with it, if that alone keeps it."""
    is_kept = not holder.recyclable and holder.until is None
    if is_kept or key in dict(freed_by(running_workload(holder.workload))):
        return holder
    return replace(holder, because="OnClosedNodes", until=None)


def holder_in(usage: RoundUsage, workload: Workload, key: FlavorResource, waiting: Waiting) -> Holder | None:
    """Return what the workload holds of `key`; None if it uses none of it."""
    found = _in_leaf(usage, usage.leaf(workload.group), key, waiting)
    return next((each for each in found if each.workload.id == workload.id), None)


def _in_leaf(usage: RoundUsage, leaf: LeafUsage, key: FlavorResource, waiting: Waiting) -> Iterator[Holder]:
    numbers = leaf.numbers(key)
    borrowed = numbers.borrowed
    for workload in sorted((*leaf.leaf.evicting, *leaf.leaf.admitted), key=_first_to_go):
        amount = dict(quantities_of(workload, flavors_of(workload))).get(key, 0)
        if amount:
            own = min(amount, borrowed)
            borrowed -= own
            because, until = _why_it_stays(usage, leaf, workload, key, waiting)
            yield Holder(workload, amount, own, because, until)


def _first_to_go(workload: Workload) -> tuple[bool, bool, int, float]:
    return (not workload.is_evicting, not workload.preemptible, workload.priority, -started(workload).timestamp())


def _why_it_stays(
    usage: RoundUsage, leaf: LeafUsage, workload: Workload, key: FlavorResource, waiting: Waiting
) -> tuple[str, datetime | None]:
    """Ask the rules of recycling, in the order in which a person would ask, what keeps this workload."""
    if workload.is_evicting:
        return "Evicting", None
    if not workload.preemptible:
        return "NotPreemptible", None
    running = running_workload(workload)
    exempt_until = leaf.running.order(usage.now).exempt_until(running)
    if exempt_until > usage.now:
        return "ExemptAfterStart", exempt_until
    is_own = leaf.name == waiting.workload.group
    kept = _kept_in_own_group(leaf, workload, waiting) if is_own else _kept_by_its_groups(usage, leaf, key, waiting)
    if kept is not None:
        return kept, None
    if not waiting.entitled:
        return "NotEntitled", None
    if not is_own:
        until = graced_until(leaf, (leaf.name, key), usage.snapshot.world.over_since, usage.now)
        if until > usage.now:
            return "GracePeriod", until
    return _why_not_at_once(_victim(running, leaf, key, is_own=is_own), usage.now)


def _kept_in_own_group(leaf: LeafUsage, workload: Workload, waiting: Waiting) -> str | None:
    if leaf.leaf.group.preemption is Preemption.NEVER:
        return "PreemptionNever"
    return None if workload.priority < waiting.workload.priority else "NotLowerPriority"


def _kept_by_its_groups(usage: RoundUsage, leaf: LeafUsage, key: FlavorResource, waiting: Waiting) -> str | None:
    """Return why a workload of another group is not reclaimed: only below groups that are over at every level."""
    if leaf.leaf.inactive is not None:
        return "Inactive"
    above = usage.leaf(waiting.workload.group).path if waiting.workload.group else leaf.path[1:]
    apart = [group for group in leaf.path if group not in above]
    own = above[: above.index(leaf.path[len(apart)])]
    for_min = bool(own) and _stays_within_min(usage, own[-1], key, waiting.workload)
    search = VictimSearch(usage, EvictionDelays({}, ignored=True))
    return None if all(search.excess(group, key, for_min=for_min) > 0 for group in apart) else "WithinRuntime"


def _stays_within_min(usage: RoundUsage, group: str, key: FlavorResource, workload: Workload) -> bool:
    """Return whether the group would be within its min with the workload: then turns keep nothing from it."""
    charge = usage.planned.charge(group, key) + workload.request.get(key.resource, 0)
    return charge <= usage.planned.charges[key].numbers[group].min


def _victim(running: RunningWorkload, leaf: LeafUsage, key: FlavorResource, *, is_own: bool) -> Victim:
    if is_own:
        return Victim(running, leaf, EvictionReason.PREEMPTED, EvictionRule.PREEMPTION, leaf.name, key)
    return Victim(running, leaf, EvictionReason.RECLAIMED, EvictionRule.RECLAIM, leaf.name, key)


def _why_not_at_once(victim: Victim, now: datetime) -> tuple[str, datetime | None]:
    noticed_until = evict_at(victim, now)
    if noticed_until > now:
        return "Notice", noticed_until
    return ("NotAnswered", None) if is_early(victim, now) else ("", None)
