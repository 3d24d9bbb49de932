"""Events about groups that became inactive, workloads that lost their leaf or cannot be read, and stray pods."""

from collections.abc import Mapping

from reconciler.report.events.decisions import WorkloadEvents
from reconciler.report.events.pending import PendingEvents
from reconciler.report.events.placement import PlacementEvents
from reconciler.report.events.quota_groups import QuotaGroupEvents
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.faults.register import GROUP, Fault, Subject
from shared.quota.decide.decisions import Plan
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.in_force import amendments_at
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Workload, WorkloadId
from shared.text.amendments import amended_text
from shared.text.conditions import AMENDED


class GroupEvents:
    """Records each event once, when it becomes true."""

    def __init__(
        self,
        state: ClusterState,
        events: WorkloadEvents,
        of_groups: QuotaGroupEvents,
        pending: PendingEvents,
        placement: PlacementEvents,
    ) -> None:
        self._state = state
        self._events = events
        self._of_groups = of_groups
        self._pending_events = pending
        self._placement_events = placement
        self._inactive: Mapping[str, Inactive] = {}
        self._orphaned: set[str] = set()
        self._seen: tuple[Workload, ...] = ()
        self._set_aside: set[Fault] = set()
        self._amended: Mapping[str, str] | None = None
        self._tree: Tree | None = None

    def report(self, snapshot: Snapshot, plan: Plan) -> None:
        """Compare with what was reported before."""
        self._pending_events.plan = plan
        self._placement_events.snapshot = snapshot
        self._report_groups(snapshot.inactive)
        self._report_budgets()
        self._report_orphaned(snapshot)
        self._report_amended(snapshot)
        while self._state.work.follow_ups.new_problems:
            key, problems = self._state.work.follow_ups.new_problems.popitem()
            with self._state.faults.about(self._state.work.readings.subject_of(key)):
                self._events.wrong(problems, self._state.work.objects.of(key))
        while self._state.work.owners.strays.untold:
            self._events.stray(self._state.work.owners.strays.untold.pop())
        self._report_set_aside()

    def _report_set_aside(self) -> None:
        """Report what is set aside; a group is reported as an inactive one."""
        before, self._set_aside = self._set_aside, set(self._state.faults.aside)
        for fault in self._set_aside - before:
            if fault.subject.kind != GROUP:
                key = self._state.work.index.key_of_id(WorkloadId(fault.subject.kind, fault.subject.name))
                self._events.set_aside(fault, [] if key is None else self._state.work.objects.of(key))

    def _report_groups(self, inactive: Mapping[str, Inactive]) -> None:
        before, self._inactive = self._inactive, inactive
        if before is inactive:
            return
        for name, why in inactive.items():
            if name in self._state.tree.groups and before.get(name) != why:
                with self._state.faults.about(Subject(GROUP, name)):
                    self._of_groups.inactive(name, self._state.tree.groups[name].uid, why)
        for name in before.keys() - inactive.keys():
            if name in self._state.tree.groups:
                self._of_groups.active_again(name, self._state.tree.groups[name].uid)

    def _report_amended(self, snapshot: Snapshot) -> None:
        """Report what begins or ends; a new leader takes from the statuses what was reported before."""
        if self._tree is snapshot.world.tree:
            return
        self._tree = snapshot.world.tree
        timed = {each.name: each for each in self._tree.groups.values() if each.overrides or each.windows}
        before = self._written_amended() if self._amended is None else self._amended
        self._amended = {name: amended_text(amendments_at(group, snapshot.now)) for name, group in timed.items()}
        for name in sorted(before.keys() | self._amended.keys()):
            text = self._amended.get(name, "")
            if before.get(name, "") != text and name in self._state.tree.groups:
                self._of_groups.amended(name, self._state.tree.groups[name].uid, text)

    def _written_amended(self) -> dict[str, str]:
        conditions = (
            (name, each) for name, record in self._state.tree.groups.items() for each in record.status.conditions
        )
        return {name: each.message for name, each in conditions if each.type == AMENDED and each.status == "True"}

    def _report_budgets(self) -> None:
        book = self._state.accounts
        while book is not None and book.budgets.passed.unreported:
            part = book.budgets.passed.unreported.pop(0)
            record = self._state.tree.groups.get(part.group)
            if record is not None:
                self._of_groups.budget_used(record.uid, part)

    def _report_orphaned(self, snapshot: Snapshot) -> None:
        """Report the workloads without a leaf; one that is pending only after a while.

        A group and its workloads are often created together, and the watch of groups may be the later one.
        """
        if snapshot.orphaned == self._seen:
            return
        self._seen = snapshot.orphaned
        now: set[str] = set()
        for workload in snapshot.orphaned:
            key = self._state.work.index.key_of(workload)
            if key is not None:
                now.add(key)
                if key in self._orphaned:
                    continue
                if workload.is_pending:
                    self._pending_events.look_soon(key)
                else:
                    with self._state.faults.about(self._state.work.readings.subject_of(key)):
                        self._events.orphaned(workload, self._state.work.objects.of(key))
        self._orphaned = now
