"""What is said while no reconciler leads: what the next plan decides waits for one, and is not shown as done."""

from dataclasses import replace
from datetime import datetime

from shared.quota.decide.decisions import Plan, WaitExplanation, WaitReason
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.workload import Workload
from shared.quota.outlook.explain.explanation import WorkloadExplanation


class Undecided:
    """What would be started, stopped, or made room for, if a reconciler led. `since`: when the last one led."""

    def __init__(self, since: datetime, given: Snapshot, decided: Plan, then: Plan) -> None:
        """`decided`: the next plan, made from `given`; `then`: the one after it."""
        self.given = given
        self._as_soon = f"as soon as a reconciler leads; none has led since {since.isoformat(timespec='seconds')}"
        self._starts = {start.workload.id for each in (decided, then) for start in each.starts}
        self._stops = {each.workload.id: each.reason for each in decided.evictions}
        claims = (each.claim for each in decided.evictions)
        self._preemptors = {each.preemptor_id for each in claims if each is not None}

    def concerns(self, workload: Workload) -> bool:
        """Return whether the next plans decide something about the workload."""
        return workload.id in self._stops or self.why(workload) is not None

    def why(self, workload: Workload) -> WaitExplanation | None:
        """Return that a waiting workload waits for a reconciler that leads; None if it would wait all the same."""
        if not workload.is_pending:
            return None
        if workload.id in self._starts:
            text = "it starts"
        elif workload.preemptor_id in self._preemptors:
            text = "room is freed for it"
        else:
            return None
        message = f"{workload.kind} {workload.key!r} waits: {text} {self._as_soon}"
        return WaitExplanation(workload, WaitReason.NO_LEADER, message)

    def position(self, workload: Workload) -> int:
        """Return the place of a workload in its queue, where all that waits has one; 0 outside it."""
        leaf = self.given.leaves.get(workload.group)
        waiting = [each.id for each in leaf.pending] if leaf is not None else []
        return waiting.index(workload.id) + 1 if workload.id in waiting else 0

    def told(self, found: WorkloadExplanation) -> WorkloadExplanation:
        """Return the explanation of a workload with what nobody carries out."""
        workload = found.workload
        why, stopped = self.why(workload), self._stops.get(workload.id)
        found = replace(found, position=self.position(workload))
        if why is not None:
            return replace(found, reason=why.reason, message=why.message)
        if stopped is not None:
            return replace(found, message=f"{found.message}; it is stopped ({stopped.value}) {self._as_soon}")
        return found
