"""The place and back-off that an evicted workload gets in its queue. docs/specification.md §6.7 and §8.4."""

from dataclasses import replace
from datetime import datetime, timedelta

from shared.api.durations import later
from shared.quota.decide.decisions import EvictionRule, Requeue
from shared.quota.model.settings import QueueAge, StartupSettings
from shared.quota.model.workload import Workload

FAILED_STARTS = frozenset({EvictionRule.STARTUP_TIMEOUT, EvictionRule.RECOVERY_TIMEOUT})


def requeue(workload: Workload, rule: EvictionRule, startup: StartupSettings, age: QueueAge, now: datetime) -> Requeue:
    """Return the place and back-off of an evicted workload. A start that had become ready cleared failed starts."""
    admission = workload.admission
    reached_ready = admission is not None and (admission.ready or admission.was_ready)
    failed = 0 if reached_ready else workload.failed_starts
    place = Requeue(now) if age is QueueAge.EVICTION else Requeue(workload.queued, released=_released(workload))
    if rule is EvictionRule.RUN_TIME:
        return replace(place, failed_starts=failed, deactivated=True)
    if rule not in FAILED_STARTS:
        return replace(place, failed_starts=failed)
    failed += 1
    if startup.limit is not None and failed >= startup.limit:
        return replace(place, failed_starts=failed, deactivated=True)
    return replace(place, not_before=later(now, back_off(failed, startup)), failed_starts=failed)


def _released(workload: Workload) -> datetime | None:
    """Return where age is counted from creation: when it was released after that."""
    return workload.queued if workload.queued > workload.created else None


def back_off(failed_starts: int, startup: StartupSettings) -> timedelta:
    """min(base * 2^(n-1), max); `failed_starts` n is at least 1."""
    longest = startup.backoff_max
    wait = startup.backoff_base
    for _ in range(failed_starts - 1):
        if wait >= longest or not wait:
            break
        wait *= 2
    return min(wait, longest)
