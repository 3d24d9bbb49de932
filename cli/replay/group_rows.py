"""What a replay means for each group: how long its workloads waited, what was used, what was evicted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import zip_longest

from cli.replay.lives import Replayed, ReplayedWorkload
from shared.quota.model.tree import ROOT, Tree

MARGIN = timedelta(seconds=60)
"""A start that differs by no more than this from the recorded one is neither earlier nor later."""


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """One group with all below it. Waits are from arrival to the first start, of workloads that started."""

    group: str
    workloads: int
    started: int
    wait_median: timedelta
    wait_95: timedelta
    evictions: int
    used: Mapping[str, int]
    """resource → base units times milliseconds, from each start to its end, or to the end of the log."""
    lost: Mapping[str, int]
    """The part of it that ended with an eviction."""
    earlier: int
    """First starts more than a minute before the recorded ones."""
    later: int
    """First starts more than a minute after the recorded ones, or that do not happen."""

    @property
    def waiting(self) -> int:
        """How many never started."""
        return self.workloads - self.started


def replay_rows(replayed: Replayed, tree: Tree) -> list[ReplayRow]:
    """Return a row for each group with workloads in it or below it, parents before their children."""
    by_group: dict[str, list[ReplayedWorkload]] = {}
    for each in replayed.workloads:
        group = each.past.workload.group
        for name in tree.path(group) if tree.reaches_root(group) else (group,):
            by_group.setdefault(name, []).append(each)
    order = {name: place for place, name in enumerate(tree.subtree(ROOT))}
    names = sorted(by_group, key=lambda name: (order.get(name, len(order)), name))
    return [_row(name, by_group[name], replayed.log.end) for name in names]


def _row(group: str, workloads: Sequence[ReplayedWorkload], end: datetime) -> ReplayRow:
    waits = sorted(each.starts[0] - each.past.came for each in workloads if each.starts)
    used: dict[str, int] = {}
    lost: dict[str, int] = {}
    for each in workloads:
        _add_runs(each, end, used, lost)
    compared = [_compared(each) for each in workloads if each.past.starts]
    return ReplayRow(
        group, len(workloads), len(waits), _quantile(waits, 50), _quantile(waits, 95),
        sum(len(each.evictions) for each in workloads), used, lost,
        sum(each < 0 for each in compared), sum(each > 0 for each in compared),
    )  # fmt: skip


def _add_runs(each: ReplayedWorkload, end: datetime, used: dict[str, int], lost: dict[str, int]) -> None:
    evictions = each.evictions
    if each.past.ends_evicted and each.ended is not None and len(evictions) == len(each.starts):
        evictions = evictions[:-1]  # the last one lost nothing: the run had ended by then
    for start, evicted in zip_longest(each.starts, evictions):
        if start is None:
            return
        ran = ((evicted or each.ended or end) - start) // timedelta(milliseconds=1)
        for resource, amount in each.past.workload.request.items():
            used[resource] = used.get(resource, 0) + amount * max(0, ran)
            if evicted is not None:
                lost[resource] = lost.get(resource, 0) + amount * max(0, ran)


def _compared(each: ReplayedWorkload) -> int:
    """Return -1 for a first start that is earlier than the recorded one, 1 for a later one or none, 0 else."""
    if not each.starts:
        return 1
    difference = each.starts[0] - each.past.starts[0]
    return 0 if abs(difference) <= MARGIN else -1 if difference < timedelta() else 1


def _quantile(waits: Sequence[timedelta], percent: int) -> timedelta:
    """Return the least wait that so many percent of all do not exceed; 0 without any."""
    return waits[max(0, -(-len(waits) * percent // 100) - 1)] if waits else timedelta()
