"""Why each pending workload waits. Computed only when needed, from the plan alone.

See docs/specification.md §9.2.
"""

from collections.abc import Callable, Iterator

from shared.quota.decide.decisions import Plan, WaitExplanation, WaitReason
from shared.quota.decide.state.flavor_assignment import Assignments, assignments_of, without_flavors
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.usage import FrozenNumbers, GroupPath, Quantities, Usage
from shared.quota.measure.idle_guarantees import IdleGuarantee, idle_guarantees
from shared.quota.measure.snapshot import LeafSnapshot, Snapshot
from shared.quota.model.budgets.in_force import stop_reason
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.workload import EvictionReason, Workload
from shared.quota.outlook.explain.missing_capacity import LocalShortages, MissingCapacity
from shared.quota.outlook.explain.never import never
from shared.quota.outlook.explain.shortage import Shortage, beyond_min, beyond_runtime
from shared.quota.outlook.explain.turn_sentence import TurnSentences
from shared.resources import FlavorResource

Found = tuple[WaitReason, Shortage | Workload | None, str]
"""(reason, the binding limit or the workload that is waited for, the message after "waits: ")."""


class PendingReasons:
    """Reads the reasons of all pending workloads out of a plan, which it does not change.

    What several reasons need is computed once for each reader.
    """

    __slots__ = (
        "_after_evictions",
        "_current",
        "_end",
        "_first_waits",
        "_kept",
        "_missing",
        "_planned",
        "_snapshot",
        "_started",
        "_turns",
    )

    def __init__(self, plan: Plan, missing: MissingCapacity | LocalShortages | None = None) -> None:
        """`missing`: what computes amounts; by default the true ones."""
        self._end = plan.end
        self._snapshot = plan.end.snapshot
        self._missing = MissingCapacity(self._snapshot) if missing is None else missing
        numbers = FrozenNumbers(self._snapshot.numbers)
        self._current = Usage.of(numbers, plan.end.current)
        self._after_evictions = Usage.of(numbers, plan.end.after_evictions)
        self._planned = Usage.of(numbers, plan.end.planned)
        self._started = {start.workload.id for start in plan.starts}
        self._turns = TurnSentences(self._snapshot)
        self._first_waits: dict[str, _FirstWaits] = {}
        """StrictFIFO leaf -> for each flavor, the first workload that waits for it."""
        self._kept: dict[tuple[str, FlavorResource], tuple[IdleGuarantee, ...]] = {}
        """(group, key) -> what idle groups below the group keep."""

    @classmethod
    def without_amounts(cls, plan: Plan) -> "PendingReasons":
        """Return a cheaper reader whose reasons are right, but whose amounts can be too small."""
        return cls(plan, LocalShortages())

    def __iter__(self) -> Iterator[WaitExplanation]:
        """Yield every pending workload that this cycle does not start, by leaf's name, then in the leaf's order."""
        for _, leaf in sorted(self._snapshot.leaves.items()):
            for workload in (*leaf.pending, *leaf.aside):
                waiting = self.why(workload)
                if waiting is not None:
                    yield waiting
        for workload in self._snapshot.orphaned:
            waiting = self.why(workload)
            if waiting is not None:
                yield waiting

    def why(self, workload: Workload) -> WaitExplanation | None:
        """Return why this workload waits; None when it starts now or does not wait."""
        if not workload.is_pending or workload.id in self._started:
            return None
        reason, shortage, text = self._find(workload)
        message = f"{workload.kind} {workload.key!r} waits: {text}"
        turn = self._turns.of(workload) if reason in _OF_TURNS else ""
        message = f"{message}; {turn}" if turn else message
        if isinstance(shortage, Workload):
            return WaitExplanation(workload, reason, message, behind=shortage)
        if shortage is None:
            leaf = self._snapshot.leaves.get(workload.group)
            binding = leaf.stopped_by if leaf is not None and reason is WaitReason.GROUP_STOPPED else ""
            return WaitExplanation(workload, reason, message, binding)
        flavor, resource = shortage.key
        return WaitExplanation(workload, reason, message, shortage.group, flavor, resource, shortage.missing)

    def _find(self, workload: Workload) -> Found:
        leaf = self._snapshot.leaves.get(workload.group)
        if leaf is None:
            return WaitReason.NO_LEAF, None, f"{workload.group!r} is no leaf of the tree"
        aside = _own_reason(workload, leaf, self._snapshot)
        if aside is not None:
            return aside[0], None, aside[1]
        assignments = self._assignments(leaf, workload)
        if assignments is None:
            return self._never(leaf, workload)
        usage = LeafUsage.of(leaf, self._snapshot.numbers[workload.group], self._end.leaves.get(workload.group))
        return self._among_others(usage, workload, assignments)

    def _assignments(self, leaf: LeafSnapshot, workload: Workload) -> Assignments | None:
        return assignments_of(workload, leaf.options(workload), self._snapshot.world.flavors)

    def _among_others(self, leaf_usage: LeafUsage, workload: Workload, assignments: Assignments) -> Found:
        end = self._end
        passed_over = end.wait_reasons.get(workload.id)
        unready = end.blocked_by or end.blocked_leaves.get(leaf_usage.name)
        if unready is not None and passed_over in (None, WaitReason.PODS_NOT_READY):
            return WaitReason.PODS_NOT_READY, unready, f"the pods of {unready.named_for(workload)} are not ready yet"
        # It might be of a workload with the same name that has changed since.
        if passed_over is not None and passed_over in _WAITING_TEXT:
            short = self._on_path(self._current, leaf_usage.path, assignments[0].quantities)
            return _from(passed_over, short, _WAITING_TEXT[passed_over])
        before = self._waits_before(leaf_usage.leaf, workload, assignments)
        unblocked = without_flavors(assignments, before)
        if unblocked is None:
            head = next(before[flavor] for flavor in _flavors_in(assignments) if flavor in before)
            return WaitReason.BEHIND_HEAD, head, _behind(leaf_usage.leaf, head.named_for(workload))
        return self._for_room(leaf_usage, workload, unblocked[0].quantities)

    def _on_path(self, usage: Usage, path: GroupPath, quantities: Quantities) -> Shortage | None:
        """Return what binds on the path, with what idle groups keep there."""
        short = self._missing.on_path(usage, path, quantities)
        if short is None:
            return None
        place = short.group, short.key
        if place not in self._kept:
            self._kept[place] = tuple(idle_guarantees(self._snapshot, *place))
        return short._replace(kept=self._kept[place]) if self._kept[place] else short

    def _for_room(self, leaf_usage: LeafUsage, workload: Workload, quantities: Quantities) -> Found:
        if not leaf_usage.may_hold(quantities, workload):
            return _from(WaitReason.BEYOND_MIN, beyond_min(leaf_usage, quantities), "")
        short = self._on_path(self._current, leaf_usage.path, quantities)
        if short is not None:
            return _from(WaitReason.WAITING_FOR_QUOTA, short, "")
        short = self._on_path(self._planned, leaf_usage.path, quantities) or self._on_path(
            self._after_evictions, leaf_usage.path, quantities
        )
        if short is not None:
            return _from(WaitReason.ROOM_KEPT_FOR_OTHERS, short, "")
        if leaf_usage.leaf.reclaim.mode is ReclaimMode.STRICT:
            return _from(WaitReason.WAITING_FOR_QUOTA, beyond_runtime(leaf_usage, quantities), "its turn comes next")
        return WaitReason.WAITING_FOR_QUOTA, None, "its turn comes next"

    def _never(self, leaf: LeafSnapshot, workload: Workload) -> Found:
        """Return why a workload could never start in its leaf: not covered, unlike every flavor, or too large."""
        misfit = never(self._snapshot, leaf, workload)
        short = misfit.short
        if short is not None and short.missing and misfit.reason is WaitReason.NEVER_FITS:
            short = self._missing.to_fit_alone(leaf.group.name, short)
        return misfit.reason, short, misfit.text

    def _waits_before(self, leaf: LeafSnapshot, workload: Workload, assignments: Assignments) -> dict[str, Workload]:
        """Return flavor -> the workload that waits for it before this one, and holds back those behind it."""
        since = leaf.held_back_from(self._snapshot.now)
        if since is None:
            return {}
        found = self._first_waits.get(leaf.group.name)
        if found is None:
            waiting = (each for each in leaf.pending if each.id not in self._started)
            wanted = (
                (each, _flavors_in(self._assignments(leaf, each) or ()) if each.queued <= since else [])
                for each in waiting
            )
            found = self._first_waits[leaf.group.name] = _FirstWaits(wanted, leaf.place_in_queue())
        return found.before(workload, _flavors_in(assignments))


class _FirstWaits:
    """Finds the first workload of a queue that waits for a flavor. Looks no further than it must: queues are long."""

    __slots__ = ("_found", "_place_of", "_rest")

    def __init__(
        self, waiting: Iterator[tuple[Workload, list[str]]], place_of: Callable[[Workload], tuple[object, ...]]
    ) -> None:
        self._rest = waiting
        self._place_of = place_of
        self._found: dict[str, Workload] = {}

    def before(self, workload: Workload, flavors: list[str]) -> dict[str, Workload]:
        """Return those of these flavors, that are before this workload."""
        place = self._place_of(workload)
        while any(flavor not in self._found for flavor in flavors):
            each, waited_for = next(self._rest, (None, []))
            if each is None:
                break
            for flavor in waited_for:
                self._found.setdefault(flavor, each)
            if self._place_of(each) >= place:
                break
        known = ((flavor, self._found.get(flavor)) for flavor in flavors)
        return {flavor: each for flavor, each in known if each is not None and self._place_of(each) < place}


def _behind(leaf: LeafSnapshot, head: str) -> str:
    if leaf.patience is None:
        return f"group {leaf.group.name!r} is StrictFIFO and {head} is before it"
    return f"{head} is before it and has waited for longer than others may pass it in group {leaf.group.name!r}"


def _flavors_in(assignments: Assignments) -> list[str]:
    return [option.flavor for each in assignments for option in each.options]


_OF_TURNS = frozenset(
    {WaitReason.WAITING_FOR_QUOTA, WaitReason.ROOM_DELAYED, WaitReason.ROOM_KEPT_FOR_OTHERS, WaitReason.BEHIND_HEAD}
)
_WAITING_TEXT = {
    WaitReason.WAITING_FOR_EVICTIONS: "its room is being freed",
    WaitReason.ROOM_DELAYED: "its room is reserved, and those who use it go when their grace period, notice or "
    "exemptAfterStart is over, or end",
    WaitReason.ROOM_KEPT_FOR_OTHERS: "its group's share is kept for an entitled workload that was there before it",
}


def _own_reason(workload: Workload, leaf: LeafSnapshot, snapshot: Snapshot) -> tuple[WaitReason, str] | None:
    if leaf.inactive is not None:
        return WaitReason.GROUP_INACTIVE, leaf.inactive.message
    if not leaf.may_start:
        return WaitReason.GROUP_STOPPED, stop_reason(snapshot.world.tree[leaf.stopped_by], leaf.stop)
    if workload.deactivated:
        return WaitReason.DEACTIVATED, f"{_why_deactivated(workload)}; it stays stopped until it is resumed"
    if workload.hold:
        return WaitReason.HELD, workload.hold_reason or "its owner holds it with the label quotree.dev/hold"
    if workload.not_before is not None and workload.not_before > snapshot.now:
        failed = f"{workload.failed_starts} starts failed" if workload.failed_starts else "its start was refused"
        return WaitReason.BACKING_OFF, f"{failed}; tried again at {workload.not_before.isoformat(timespec='seconds')}"
    return None


def _why_deactivated(workload: Workload) -> str:
    if workload.eviction is not None and workload.eviction.reason is EvictionReason.OVER_TIME:
        return f"its run time was over at {workload.eviction.at.isoformat(timespec='seconds')}"
    return f"{workload.failed_starts} starts failed"


def _from(reason: WaitReason, shortage: Shortage | None, otherwise: str) -> Found:
    return reason, shortage, otherwise if shortage is None else shortage.sentence
