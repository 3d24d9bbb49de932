"""The workloads by key, as they count now, and which have changed since the last call of `changes`. Pure."""

from shared.quota.measure.inputs.workload_set import WorkloadChange
from shared.quota.model.workload import Workload, WorkloadId


class WorkloadIndex:
    """The workloads that count now; `WorkloadCache` updates them."""

    def __init__(self) -> None:
        self.added_or_removed: set[str] = set()
        """Keys that were added or removed; `NodeUsage` takes them."""
        self.newly_pending: dict[str, None] = {}
        """Workloads that became pending, in order; `PendingEvents` takes them."""
        self.newly_started: dict[str, None] = {}
        """Workloads that were started, in order; `PlacementEvents` takes them."""
        self.changed = True
        """Whether `changes` returns anything."""
        self.pending_came = False
        """Whether a workload has become pending since the last call of `changes`."""
        self._workloads: dict[str, Workload] = {}
        self._reported: dict[str, Workload] = {}
        self._touched: dict[str, None] = {}
        self._key_of: dict[WorkloadId, str] = {}
        self._hidden: dict[WorkloadId, dict[str, None]] = {}
        """The keys that do not count because a workload of that name counts under another key."""

    def changes(self) -> list[WorkloadChange]:
        """(before, after) of each workload that changed since the last call.

        Removed ones first: a new Job may have a deleted one's name.
        """
        removed: list[WorkloadChange] = []
        rest: list[WorkloadChange] = []
        for key in self._touched:
            before, after = self._reported.pop(key, None), self._workloads.get(key)
            if after is not None:
                self._reported[key] = after
            if before is not after:
                (removed if after is None else rest).append((before, after))
        self._touched.clear()
        self.changed = self.pending_came = False
        return removed + rest

    def workload(self, key: str) -> Workload | None:
        """Return the workload as it counts now."""
        return self._workloads.get(key)

    def key_of(self, workload: Workload) -> str | None:
        """Return the key of this workload, if it still exists."""
        return self._key_of.get(workload.id)

    def key_of_id(self, workload_id: WorkloadId) -> str | None:
        """Return the key of the workload with this identity, if it exists."""
        return self._key_of.get(workload_id)

    def keys_in(self, groups: set[str]) -> list[str]:
        """Return the keys of the workloads of these groups."""
        return [key for key, found in self._workloads.items() if found.group in groups]

    def unless_hidden(self, key: str, workload: Workload | None) -> Workload | None:
        """`workload`; None while one of its name counts under another key.

        Of two pods of one name, one is gone, and the watch that still has it lags behind the other's.
        """
        if workload is None or self._key_of.get(workload.id, key) == key:
            return workload
        self._hidden.setdefault(workload.id, {})[key] = None
        return None

    def take_hidden(self, workload_id: WorkloadId) -> list[str]:
        """Return the keys that were hidden by the workload of this name, once it counts no more."""
        return [] if workload_id in self._key_of else [*self._hidden.pop(workload_id, ())]

    def put(self, key: str, workload: Workload | None) -> bool:
        """Count `workload` under the key (None: nothing), and return whether that is a change."""
        before = self._workloads.get(key)
        if before == workload:
            return False
        if before is None or workload is None:
            self.added_or_removed.add(key)
        if before is not None and self._key_of.get(before.id) == key:
            del self._key_of[before.id]
        if workload is None:
            del self._workloads[key]
        else:
            self._workloads[key] = workload
            self._key_of[workload.id] = key
        self._update_pending(key, before, workload)
        self._update_started(key, before, workload)
        self._touched[key] = None
        self.changed = True
        return True

    def _update_pending(self, key: str, before: Workload | None, after: Workload | None) -> None:
        if after is None or not (_is_waiting(after) or _is_held_by_others(after)):
            self.newly_pending.pop(key, None)
        elif before is None or _wait_of(before) != _wait_of(after):
            self.newly_pending[key] = None
            self.pending_came |= _is_waiting(after)

    def _update_started(self, key: str, before: Workload | None, after: Workload | None) -> None:
        if after is None or after.admission is None:
            self.newly_started.pop(key, None)
        elif before is None or before.admission is None or before.admission.since != after.admission.since:
            self.newly_started[key] = None


def _is_waiting(workload: Workload) -> bool:
    return workload.is_pending and not workload.hold


def _is_held_by_others(workload: Workload) -> bool:
    return workload.is_pending and bool(workload.gates)


def _wait_of(workload: Workload) -> tuple[bool, tuple[str, ...]]:
    return _is_waiting(workload), workload.gates if workload.is_pending else ()
