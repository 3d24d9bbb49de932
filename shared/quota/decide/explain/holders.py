"""Who holds what a pending workload waits for, and whether it can be recycled for it. docs/specification.md §7."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from shared.api.durations import later
from shared.quota.decide.state.leaf_usage import LeafUsage, flavors_of, started
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import quantities_of
from shared.quota.model.tree import Preemption
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True)
class Holder:
    """A workload that uses a key: how much, how much of that its leaf borrows, and why it stays, if it does.

    `because`: Evicting, NotPreemptible, ExemptAfterStart, NotLowerPriority, PreemptionNever, WithinRuntime,
    GracePeriod, Notice or NotEntitled; empty if it can be recycled.
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
    return sorted(found, key=lambda each: (-each.amount, each.workload.id))


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
    reclaim = leaf.leaf.reclaim
    exempt_until = later(started(workload), reclaim.exempt_after_start)
    if workload.is_evicting:
        return "Evicting", None
    if not workload.preemptible:
        return "NotPreemptible", None
    if exempt_until > usage.now:
        return "ExemptAfterStart", exempt_until
    if leaf.name == waiting.workload.group:
        if leaf.leaf.group.preemption is Preemption.NEVER:
            return "PreemptionNever", None
        if workload.priority >= waiting.workload.priority:
            return "NotLowerPriority", None
    elif usage.planned.over_runtime(leaf.name, key) <= 0:
        return "WithinRuntime", None
    if not waiting.entitled:
        return "NotEntitled", None
    since = usage.snapshot.world.over_since.get((leaf.name, key), usage.now)
    graced_until = later(since, reclaim.grace_period)
    if leaf.name != waiting.workload.group and graced_until > usage.now:
        return "GracePeriod", graced_until
    noticed_until = later(workload.notice or usage.now, reclaim.notice)
    return ("Notice", noticed_until) if noticed_until > usage.now else ("", None)
