"""All or nothing: whose pods are not ready in time, and whom unready work holds back. docs/specification.md §8."""

from datetime import datetime

from shared.quota.decide.decisions import EvictionRule
from shared.quota.decide.state.cycle_state import CycleState
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.settings import BlockAdmission, StartupSettings
from shared.quota.model.workload import Workload


def deadline(
    workload: Workload, startup: StartupSettings, watched_since: datetime | None = None
) -> tuple[datetime | None, EvictionRule]:
    """Until when this unready work may stay unready, None indefinitely; and the rule that says so.

    Work that started before anybody watched may have been ready and have lost that just then: its time-out counts
    from the moment since which it is watched.
    """
    admission = workload.admission
    if admission is None or not startup.wait_for_pods_ready:
        return None, EvictionRule.STARTUP_TIMEOUT
    if not admission.was_ready:
        since = max(admission.since, watched_since or admission.since)
        return since + startup.timeout, EvictionRule.STARTUP_TIMEOUT
    if startup.recovery_timeout is None:
        return None, EvictionRule.RECOVERY_TIMEOUT
    return (admission.unready_since or admission.since) + startup.recovery_timeout, EvictionRule.RECOVERY_TIMEOUT


def overdue(leaf: LeafSnapshot, cycle: CycleState) -> list[tuple[Workload, EvictionRule]]:
    """Work of this leaf that was given up: its pods are not ready in time. Tells the cycle the next deadline."""
    found = []
    for workload in leaf.unready:
        until, rule = deadline(workload, leaf.startup, cycle.snapshot.world.watched_since)
        if until is None:
            continue
        if until <= cycle.now:
            found.append((workload, rule))
        else:
            cycle.wake(until)
    return found


def hold_others_back(cycle: CycleState, leaf_usage: LeafUsage, workload: Workload) -> None:
    """Let this admitted work, whose pods are not ready, hold back whom its group's settings say."""
    startup = leaf_usage.leaf.startup
    if not startup.wait_for_pods_ready or workload.id in leaf_usage.gone:
        return
    if startup.block_admission is BlockAdmission.CLUSTER:
        cycle.blocked_by = cycle.blocked_by or workload
    elif startup.block_admission is BlockAdmission.GROUP:
        cycle.blocked_leaves.setdefault(leaf_usage.name, workload)
