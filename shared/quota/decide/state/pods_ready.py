"""All or nothing: which pods are not ready in time, and which starts an unready workload holds back.

docs/specification.md §8.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from shared.api.durations import later
from shared.quota.decide.decisions import EvictionRule
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.lifecycle import startup_of
from shared.quota.model.settings import BlockAdmission, StartupSettings
from shared.quota.model.workload import Admission, Workload


def deadline(
    workload: Workload, startup: StartupSettings, watched_since: datetime | None = None
) -> tuple[datetime | None, EvictionRule]:
    """Return until when this workload may stay unready (None: indefinitely), and the rule that says so.

    A workload that started before this process watched it might have been ready and have lost that meanwhile. So its
    time-out counts from `watched_since`.
    """
    return _deadline(workload.admission, startup_of(workload, startup), watched_since)


def _deadline(
    admission: Admission | None, startup: StartupSettings, watched_since: datetime | None
) -> tuple[datetime | None, EvictionRule]:
    if admission is None:
        return None, EvictionRule.STARTUP_TIMEOUT
    if not admission.was_ready:
        since = max(admission.since, watched_since or admission.since)
        return later(since, startup.timeout), EvictionRule.STARTUP_TIMEOUT
    if startup.recovery_timeout is None:
        return None, EvictionRule.RECOVERY_TIMEOUT
    since = admission.unready_since or admission.since
    return later(since, startup.recovery_timeout), EvictionRule.RECOVERY_TIMEOUT


def deadlines(
    leaf: LeafSnapshot, watched_since: datetime | None = None
) -> Iterator[tuple[Workload, datetime, EvictionRule]]:
    """Yield each workload of this leaf whose pods are not ready, until when it may stay so, and by which rule."""
    for workload in leaf.unready:
        until, rule = deadline(workload, leaf.startup, watched_since)
        if until is not None:
            yield workload, until, rule


def blocks_until(
    workload: Workload, startup: StartupSettings, watched_since: datetime | None = None
) -> datetime | None:
    """Return until when an unready workload blocks others at most, by the times of its group alone; None: it does not.

    Its owner may declare longer times, and a group may have no time in which to get ready again: neither makes others
    wait for longer.
    """
    if not startup.recovery_timeout:
        startup = replace(startup, recovery_timeout=startup.timeout)
    return _deadline(workload.admission, startup, watched_since)[0]


class AdmissionBlock:
    """Knows which starts are blocked by admitted workloads whose pods are not ready."""

    __slots__ = ("by", "leaves")

    def __init__(self) -> None:
        self.by: Workload | None = None
        """The workload that blocks admission in the whole cluster, if one does."""
        self.leaves: dict[str, Workload] = {}
        """leaf -> a workload that blocks admission in its leaf."""

    def holds(self, leaf_usage: LeafUsage) -> bool:
        """Return whether admission is blocked in this leaf."""
        return self.by is not None or leaf_usage.name in self.leaves

    def hold_others_back(self, leaf_usage: LeafUsage, workload: Workload) -> None:
        """Block the starts that the settings of its group name, while the pods of this workload are not ready."""
        startup = leaf_usage.leaf.startup
        if not startup.wait_for_pods_ready or workload.id in leaf_usage.running.evicted_now:
            return
        if startup.block_admission is BlockAdmission.CLUSTER:
            self.by = self.by or workload
        elif startup.block_admission is BlockAdmission.GROUP:
            self.leaves.setdefault(leaf_usage.name, workload)
