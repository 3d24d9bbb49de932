"""Since when pending workloads have been entitled without being started. docs/specification.md §6.2, §9.4.

A workload counts as entitled while its request fits its leaf's runtime beside what the leaf uses and cannot preempt for
it, and while a claim or a delayed reservation is kept for it. Of each leaf the first 64 workloads of the queue and the
holders of claims are looked at, after each change of the leaf. A new leader begins to count when it starts to lead.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from shared.cluster.state.faults.register import GROUP, Faults, Subject
from shared.quota.decide.decisions import EndState, Plan, WaitReason
from shared.quota.decide.state.flavor_assignment import assignments_of
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.measure.group_usage import GroupNumbers
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.flavor import Flavor
from shared.quota.model.workload import PreemptorId, Workload, WorkloadId

FIRST: Final = 64
_AT_ONCE: Final = 20
_KEPT: Final = frozenset({WaitReason.WAITING_FOR_EVICTIONS, WaitReason.ROOM_DELAYED})


class EntitledWaiting:
    """By leaf, which of its pending workloads are entitled, and since when."""

    def __init__(self) -> None:
        self._since: dict[str, dict[PreemptorId, datetime]] = {}
        self._seen: dict[str, tuple[LeafSnapshot, GroupNumbers]] = {}
        """The state of each leaf when it was last checked, if the cycle did not change it."""

    def look(self, plan: Plan, faults: Faults) -> Iterator[None]:
        """Check what the cycle of this plan did not start; yields to other tasks after every few leaves."""
        end = plan.end
        leaves = end.snapshot.leaves
        started = {start.workload.id for start in plan.starts}
        self._since = {name: since for name, since in self._since.items() if name in leaves}
        self._seen = {name: seen for name, seen in self._seen.items() if name in leaves}
        looked_at = 0
        for name, leaf in leaves.items():
            numbers, seen = end.snapshot.numbers[name], self._seen.get(name)
            if seen is not None and seen[0] is leaf and seen[1] is numbers and name not in end.leaves:
                continue
            known = self._since.pop(name, {})
            found: dict[PreemptorId, datetime] = {}
            with faults.about(Subject(GROUP, name)):
                for each in _entitled(end, leaf, started):
                    found[each.preemptor_id] = known.get(each.preemptor_id, plan.now)
            if found:
                self._since[name] = found
            if name in end.leaves:
                self._seen.pop(name, None)
            else:
                self._seen[name] = (leaf, numbers)
            looked_at += 1
            if looked_at % _AT_ONCE == 0:
                yield

    def waited(self, workload: Workload, now: datetime) -> timedelta:
        """Return how long the workload has been entitled until now; zero if that was not observed."""
        return now - self._since.get(workload.group, {}).get(workload.preemptor_id, now)

    def longest(self, now: datetime) -> Mapping[str, timedelta]:
        """leaf -> the longest time that a pending workload in it has been entitled."""
        return {name: now - min(since.values()) for name, since in dict(self._since).items()}


def _entitled(end: EndState, leaf: LeafSnapshot, started: set[WorkloadId]) -> Iterator[Workload]:
    if not leaf.pending or not leaf.may_start:
        return
    usage = LeafUsage.of(leaf, end.snapshot.numbers[leaf.group.name], end.leaves.get(leaf.group.name))
    claiming = [claim.preemptor for claim in leaf.claims.values() if claim.preemptor is not None]
    known: dict[tuple[int, int, bool], bool] = {}
    for workload in (*islice(leaf.pending, FIRST), *claiming):
        if workload.id in started:
            continue
        if workload.preemptor_id in leaf.claims or end.wait_reasons.get(workload.id) in _KEPT:
            yield workload
            continue
        # The leaf keeps the options of each shape, so that an id names the same ones throughout.
        alike = (id(leaf.options(workload)), workload.priority, workload.preemptible)
        if alike not in known:
            known[alike] = _fits_runtime(usage, leaf, workload, end.snapshot.world.flavors)
        if known[alike]:
            yield workload


def _fits_runtime(usage: LeafUsage, leaf: LeafSnapshot, workload: Workload, flavors: Mapping[str, Flavor]) -> bool:
    assignments = assignments_of(workload, leaf.options(workload), flavors) or ()
    return any(
        usage.may_hold(each.quantities, workload) and usage.is_entitled(each.quantities, workload)
        for each in assignments
    )
