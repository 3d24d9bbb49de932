"""What is said of the world itself: groups that became inactive, work without a leaf, work that cannot be read."""

from collections.abc import Mapping

from reconciler.report.events import WorkloadEvents
from reconciler.report.pending_events import PendingEvents
from reconciler.state.cluster_state import ClusterState
from shared.quota.decide.decisions import Plan
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.workload import Workload


class GroupEvents:
    """Says each thing once, when it becomes so."""

    def __init__(self, state: ClusterState, telling: WorkloadEvents, waits: PendingEvents) -> None:
        self._state = state
        self._telling = telling
        self._waits = waits
        self._inactive: Mapping[str, Inactive] = {}
        self._homeless: set[str] = set()
        self._seen: tuple[Workload, ...] = ()

    def report(self, snapshot: Snapshot, plan: Plan) -> None:
        """Compare with what was said before."""
        self._waits.plan = plan
        self._report_groups(snapshot.inactive)
        self._report_homeless(snapshot, plan)
        while self._state.work.fresh_problems:
            unit, problems = self._state.work.fresh_problems.popitem()
            self._telling.wrong(problems, self._state.work.objects(unit))

    def _report_groups(self, inactive: Mapping[str, Inactive]) -> None:
        before, self._inactive = self._inactive, inactive
        if before is inactive:
            return
        for name, why in inactive.items():
            if name in self._state.groups and before.get(name) != why:
                self._telling.inactive(name, self._state.groups[name].uid, why)
        for name in before.keys() - inactive.keys():
            if name in self._state.groups:
                self._telling.active_again(name, self._state.groups[name].uid)

    def _report_homeless(self, snapshot: Snapshot, plan: Plan) -> None:
        if snapshot.orphaned == self._seen:
            return
        self._seen = snapshot.orphaned
        now: set[str] = set()
        for workload in snapshot.orphaned:
            unit = self._state.work.unit_of(workload)
            if unit is not None:
                now.add(unit)
                if unit not in self._homeless:
                    why = plan.waiting.why(workload)
                    self._telling.orphaned(workload, why.message if why else "", self._state.work.objects(unit))
        self._homeless = now
