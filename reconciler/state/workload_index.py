"""The workloads by unit, as they count now, and which of them have changed since that was told last. Pure."""

from shared.quota.model.workload import Workload, WorkloadId

Change = tuple[Workload | None, Workload | None]


class WorkloadIndex:
    """What counts. Who decides what counts puts it here."""

    def __init__(self) -> None:
        self.came_or_went: set[str] = set()
        """Units that were entered or struck out; whoever minds takes them out."""
        self.fresh_waits: dict[str, None] = {}
        """Work that waits and did not before, in order; whoever looks at it takes it out."""
        self.changed = True
        """Whether `changes` has something to tell."""
        self._workloads: dict[str, Workload] = {}
        self._told: dict[str, Workload] = {}
        self._touched: dict[str, None] = {}
        self._unit_of: dict[WorkloadId, str] = {}

    def changes(self) -> list[Change]:
        """(before, after) of all work since the last call. The gone first: a new Job may bear a deleted one's name."""
        gone: list[Change] = []
        rest: list[Change] = []
        for unit in self._touched:
            before, after = self._told.pop(unit, None), self._workloads.get(unit)
            if after is not None:
                self._told[unit] = after
            if before is not after:
                (gone if after is None else rest).append((before, after))
        self._touched.clear()
        self.changed = False
        return gone + rest

    def workload(self, unit: str) -> Workload | None:
        """The unit's workload as it counts now."""
        return self._workloads.get(unit)

    def unit_of(self, workload: Workload) -> str | None:
        """The unit that this workload was read from, if it is still there."""
        return self._unit_of.get(workload.id)

    def unit_named(self, key: str) -> str | None:
        """The unit of the work of this name, whatever its kind."""
        found = (self._unit_of.get(WorkloadId(kind, key)) for kind in ("Job", "Pod", "PodGroup"))
        return next((unit for unit in found if unit is not None), None)

    def units_in(self, groups: set[str]) -> list[str]:
        """The units of the work of these groups."""
        return [unit for unit, found in self._workloads.items() if found.group in groups]

    def put(self, unit: str, workload: Workload | None) -> bool:
        """Let the unit count as that; None: as nothing. Whether that changes anything."""
        before = self._workloads.get(unit)
        if before == workload:
            return False
        if before is None or workload is None:
            self.came_or_went.add(unit)
        if before is not None and self._unit_of.get(before.id) == unit:
            del self._unit_of[before.id]
        if workload is None:
            del self._workloads[unit]
        else:
            self._workloads[unit] = workload
            self._unit_of[workload.id] = unit
        self._note_wait(unit, before, workload)
        self._touched[unit] = None
        self.changed = True
        return True

    def _note_wait(self, unit: str, before: Workload | None, after: Workload | None) -> None:
        if after is None or not _waits(after):
            self.fresh_waits.pop(unit, None)
        elif before is None or not _waits(before):
            self.fresh_waits[unit] = None


def _waits(workload: Workload) -> bool:
    return workload.is_pending and not workload.hold
