"""Why each pending workload waits. Computed only when needed, from the usage as the cycle left it.

See docs/specification.md §9.2.
"""

from collections.abc import Iterator

from shared.quota.decide.decisions import WaitExplanation, WaitReason
from shared.quota.decide.explain.shortage import Shortage, beyond_min, beyond_runtime, on_path, worst
from shared.quota.decide.state.cycle_state import CycleState
from shared.quota.decide.state.flavor_assignment import Assignments, without_flavors
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.usage import Quantities, quantities_in
from shared.quota.measure.group_usage import NO_NUMBERS
from shared.quota.measure.inputs.workload_set import queue_order
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.eligibility import FlavorSet, codependent_sets, why_not
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.tree import QueueingStrategy
from shared.quota.model.workload import Workload, WorkloadId

Found = tuple[WaitReason, Shortage | None, str]
"""(reason, what binds, the sentence after "waits: ")."""


class PendingReasons:
    """All waiting work of one cycle; implements `Waits`."""

    __slots__ = ("_cycle", "_first_waits", "_unblocked")

    def __init__(self, cycle: CycleState) -> None:
        self._cycle = cycle
        self._first_waits: dict[str, dict[str, Workload]] = {}
        """By StrictFIFO leaf and flavor, the first work that waits."""
        self._unblocked: dict[WorkloadId, Assignments] = {}
        """What work in a StrictFIFO leaf may take beside what those before it wait for."""
        cycle.count_delayed()

    def __iter__(self) -> Iterator[WaitExplanation]:
        """Every pending workload that this cycle does not start, by leaf's name, then in the leaf's order."""
        for _, leaf in sorted(self._cycle.snapshot.leaves.items()):
            for workload in (*leaf.pending, *leaf.aside):
                waiting = self.why(workload)
                if waiting is not None:
                    yield waiting
        for workload in self._cycle.snapshot.orphaned:
            waiting = self.why(workload)
            if waiting is not None:
                yield waiting

    def why(self, workload: Workload) -> WaitExplanation | None:
        """Why this workload waits; None when it starts now or does not wait."""
        if not workload.is_pending or workload.id in self._cycle.started:
            return None
        reason, shortage, text = self._find(workload)
        message = f"{workload.kind} {workload.key!r} waits: {text}"
        if shortage is None:
            leaf = self._cycle.snapshot.leaves.get(workload.group)
            binding = leaf.stopped_by if leaf is not None and reason is WaitReason.GROUP_STOPPED else ""
            return WaitExplanation(workload, reason, message, binding)
        flavor, resource = shortage.key
        return WaitExplanation(workload, reason, message, shortage.group, flavor, resource, shortage.missing)

    def _find(self, workload: Workload) -> Found:
        leaf = self._cycle.snapshot.leaves.get(workload.group)
        if leaf is None:
            return WaitReason.NO_LEAF, None, f"{workload.group!r} is no group that holds work below root"
        aside = _own_reason(workload, leaf, self._cycle)
        if aside is not None:
            return aside[0], None, aside[1]
        leaf_usage = self._cycle.leaf_usage(workload.group)
        assignments = self._cycle.assignments(leaf_usage, workload)
        if assignments is None:
            return self._never(leaf, workload)
        return self._among_others(leaf_usage, workload, assignments)

    def _among_others(self, leaf_usage: LeafUsage, workload: Workload, assignments: Assignments) -> Found:
        cycle = self._cycle
        note = cycle.wait_reasons.get(workload.id)
        unready = cycle.blocked_by or cycle.blocked_leaves.get(leaf_usage.name)
        if unready is not None and note in (None, WaitReason.PODS_NOT_READY):
            text = f"the pods of {unready.kind} {unready.key!r} are not ready yet"
            return WaitReason.PODS_NOT_READY, None, text
        # A note may be about work of the same name that has changed since.
        if note is not None and note in _WAITING_TEXT:
            return _from(note, on_path(cycle.current, leaf_usage.path, assignments[0].quantities), _WAITING_TEXT[note])
        head = self._blocker(leaf_usage, workload)
        if head is not None:
            return (
                WaitReason.BEHIND_HEAD,
                None,
                f"group {leaf_usage.name!r} is StrictFIFO and {head.key!r} is before it",
            )
        available = self._unblocked.get(workload.id, assignments)
        return self._for_room(leaf_usage, workload, available[0].quantities)

    def _for_room(self, leaf_usage: LeafUsage, workload: Workload, quantities: Quantities) -> Found:
        cycle = self._cycle
        if not leaf_usage.may_hold(quantities, workload):
            return _from(WaitReason.BEYOND_MIN, beyond_min(leaf_usage, quantities), "")
        short = on_path(cycle.current, leaf_usage.path, quantities)
        if short is not None:
            return _from(WaitReason.WAITING_FOR_QUOTA, short, "")
        short = on_path(cycle.planned, leaf_usage.path, quantities) or on_path(
            cycle.after_evictions, leaf_usage.path, quantities
        )
        if short is not None:
            return _from(WaitReason.ROOM_KEPT_FOR_OTHERS, short, "")
        if leaf_usage.leaf.reclaim.mode is ReclaimMode.STRICT:
            return _from(WaitReason.WAITING_FOR_QUOTA, beyond_runtime(leaf_usage, quantities), "its turn comes next")
        return WaitReason.WAITING_FOR_QUOTA, None, "its turn comes next"

    def _never(self, leaf: LeafSnapshot, workload: Workload) -> Found:
        """Why work could never start in its leaf: not covered, too large, or unlike every flavor."""
        options = leaf.options(workload)
        if options.uncovered:
            return WaitReason.NO_ELIGIBLE_FLAVOR, None, f"no quota entry covers {', '.join(options.uncovered)}"
        for each in (each for each in options.sets if not each.flavors):
            refused = "; ".join(f"flavor {flavor}: {why}" for flavor, why in each.refused.items())
            large = worst(self._too_large(leaf, workload, each))
            if large is not None:
                return WaitReason.NEVER_FITS, large, f"it could never fit ({refused})"
            return WaitReason.NO_ELIGIBLE_FLAVOR, None, f"no flavor may serve {', '.join(each.resources)}: {refused}"
        return WaitReason.NO_ELIGIBLE_FLAVOR, None, "no node could have flavors for all that it requests"

    def _too_large(self, leaf: LeafSnapshot, workload: Workload, choice: FlavorSet) -> Iterator[Shortage]:
        """What is missing in each flavor that only its size keeps this work from."""
        snapshot = self._cycle.snapshot
        for covered in codependent_sets(leaf.group.quotas):
            if not covered.resources.issuperset(choice.resources):
                continue
            for flavor in covered.flavors:
                if why_not(workload, flavor, covered, snapshot.world.flavors) is None:
                    for key, amount in quantities_in(workload.request, choice.resources, flavor):
                        most, group = snapshot.largest_fit(leaf.group.name, key)
                        promised = snapshot.numbers[leaf.group.name].get(key, NO_NUMBERS).effective_min
                        if not workload.preemptible and promised < most:
                            most, group = promised, leaf.group.name
                        yield Shortage(amount - max(0, most), group, key, amount, most, most)

    def _blocker(self, leaf_usage: LeafUsage, workload: Workload) -> Workload | None:
        """The work that, in a StrictFIFO leaf, waits before this one for a flavor this one needs."""
        assignments = self._cycle.assignments(leaf_usage, workload)
        if leaf_usage.leaf.group.queueing is not QueueingStrategy.STRICT_FIFO or assignments is None:
            return None
        if leaf_usage.name not in self._first_waits:
            self._first_waits[leaf_usage.name] = self._find_first_waits(leaf_usage)
        place = queue_order(workload)
        before = {
            flavor: each for flavor, each in self._first_waits[leaf_usage.name].items() if queue_order(each) < place
        }
        available = without_flavors(assignments, before)
        if available is None:
            return next(before[flavor] for flavor in _flavors_in(assignments) if flavor in before)
        self._unblocked[workload.id] = available
        return None

    def _find_first_waits(self, leaf_usage: LeafUsage) -> dict[str, Workload]:
        """flavor -> the first work of the leaf that waits for it. Looks no further than it must: queues are long."""
        wishes = (kind.assignments or () for kind in self._cycle.queue(leaf_usage.name).startable)
        flavors = {flavor for assignments in wishes for flavor in _flavors_in(assignments)}
        found: dict[str, Workload] = {}
        for workload in leaf_usage.leaf.pending:
            if len(found) == len(flavors):
                break
            assignments = None if workload.id in self._cycle.started else self._cycle.assignments(leaf_usage, workload)
            for flavor in _flavors_in(assignments or ()):
                found.setdefault(flavor, workload)
        return found


def _flavors_in(assignments: Assignments) -> list[str]:
    return [option.flavor for each in assignments for option in each.options]


_WAITING_TEXT = {
    WaitReason.WAITING_FOR_EVICTIONS: "its room is being freed",
    WaitReason.ROOM_DELAYED: "its room is kept, and those who use it go when their time is over",
    WaitReason.ROOM_KEPT_FOR_OTHERS: "its group's share is kept for work that is entitled and was there before it",
}


def _own_reason(workload: Workload, leaf: LeafSnapshot, cycle: CycleState) -> tuple[WaitReason, str] | None:
    if leaf.inactive is not None:
        return WaitReason.GROUP_INACTIVE, leaf.inactive.message
    if not leaf.may_start:
        return WaitReason.GROUP_STOPPED, f"group {leaf.stopped_by!r} has stopPolicy {leaf.stop.value}"
    if workload.deactivated:
        return WaitReason.DEACTIVATED, f"{workload.failed_starts} starts failed; it stays stopped until it is resumed"
    if workload.hold:
        return WaitReason.HELD, "its owner holds it with the label quotree.dev/hold"
    if workload.not_before is not None and workload.not_before > cycle.now:
        failed = f"{workload.failed_starts} starts failed" if workload.failed_starts else "its start was refused"
        return WaitReason.BACKING_OFF, f"{failed}; tried again at {workload.not_before.isoformat(timespec='seconds')}"
    return None


def _from(reason: WaitReason, shortage: Shortage | None, otherwise: str) -> Found:
    return reason, shortage, otherwise if shortage is None else shortage.sentence
