"""The stop policy, the settings and the run-time limit in force in a group, and whether it is active.

A stop policy holds for the whole subtree, the strictest on the path wins; a child's own policy is in
force again once its ancestors are opened. Settings are the nearest override on the path, else the cluster's, and none
is above its maximum. Of run-time limits the shortest on the path holds, and no workload declares a longer one.

See docs/specification.md §4.10, §7.14 and §11.2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeVar

from shared.api.durations import later
from shared.api.owner_settings import OwnStartup
from shared.quota.model.settings import (
    BlockAdmission,
    QueueingMaxima,
    QuotaSettings,
    ReclaimMaxima,
    ReclaimSettings,
    RunTimeMaxima,
    StartupMaxima,
    StartupSettings,
)
from shared.quota.model.tree import SYSTEM, Group, ReclaimOverrides, StartupOverrides, StopPolicy
from shared.quota.model.workload import Workload


@dataclass(frozen=True, slots=True)
class Inactive:
    """Why nothing new starts in a group: a stable CamelCase word, and a sentence.

    `detached`: the group does not reach root (absent parent, cycle), so it has no part in the arithmetic.
    """

    reason: str
    message: str
    detached: bool = False


STRICTNESS: Final = {policy: rank for rank, policy in enumerate(StopPolicy)}
STARTS_NOTHING: Final = frozenset({StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN_PREEMPTIBLE, StopPolicy.HOLD_AND_DRAIN})


def is_drained(policy: StopPolicy, *, preemptible: bool) -> bool:
    """Return whether the policy evicts workloads that are preemptible, or that are not."""
    if policy is StopPolicy.HOLD_AND_DRAIN_PREEMPTIBLE:
        return preemptible
    return policy is StopPolicy.HOLD_AND_DRAIN


def stop_in_force(path: Sequence[Group]) -> tuple[StopPolicy, str]:
    """Return the strictest stop policy on `path` (a group, then its ancestors), and the nearest group that sets it."""
    strictest = max(path, key=lambda group: STRICTNESS[group.stop_policy])
    return strictest.stop_policy, strictest.name


def reclaim_in_force(path: Sequence[Group], cluster: QuotaSettings) -> ReclaimSettings:
    """Return the reclaim settings of the first group of `path`: none is above its maximum."""
    return within_maxima(_overridden(cluster.reclaim, [group.reclaim for group in path]), cluster.maxima.reclaim)


def startup_in_force(path: Sequence[Group], cluster: QuotaSettings) -> StartupSettings:
    """Return the all-or-nothing settings of the first group of `path`: none is above its maximum."""
    return within_maxima(_overridden(cluster.startup, [group.startup for group in path]), cluster.maxima.startup)


def startup_of(workload: Workload, settings: StartupSettings) -> StartupSettings:
    """Return the all-or-nothing settings of one workload: those of its group, with what its owner declares."""
    own = workload.startup
    if own.timeout is None and own.recovery_timeout is None:
        return settings
    return replace(
        settings,
        timeout=settings.timeout if own.timeout is None else own.timeout,
        recovery_timeout=settings.recovery_timeout if own.recovery_timeout is None else own.recovery_timeout,
    )


def is_gang(path: Sequence[Group], cluster: QuotaSettings, own: OwnStartup) -> bool:
    """Return whether kube-scheduler is to place the pods of a Job of the first group of `path` all or none."""
    if not cluster.gang_scheduling:
        return False
    return startup_in_force(path, cluster).gang if own.gang is None else own.gang


class RunTimeLimit(NamedTuple):
    """How long a workload may run, and who says so: a group by its name, or "" for the workload itself."""

    time: timedelta
    group: str = ""


def run_time_in_force(path: Sequence[Group], cluster: QuotaSettings) -> RunTimeLimit | None:
    """Return the shortest run-time limit on `path`, of the nearest group among equal ones; None: there is none."""
    limits = [RunTimeLimit(group.max_run_time, group.name) for group in path if group.max_run_time is not None]
    if not limits or path[0].name == SYSTEM:
        return None
    shortest, most = min(limits, key=lambda limit: limit.time), cluster.maxima.run_time.max_run_time
    return shortest if most is None else shortest._replace(time=min(shortest.time, most))


class RunEnd(NamedTuple):
    """The end of a run: by which limit, when notice of it is due, and when it is."""

    limit: RunTimeLimit
    notice: datetime
    at: datetime


def run_end(workload: Workload, limit: RunTimeLimit | None, notice: timedelta) -> RunEnd | None:
    """Return when the run time of a workload is over, counted since its latest start; None: it has no limit.

    `limit`: that of its group; a workload can declare less. It is told `notice` before, or at its start.
    """
    own, admission = workload.max_run_time, workload.admission
    if own is not None and (limit is None or own < limit.time):
        limit = RunTimeLimit(own)
    if limit is None or admission is None:
        return None
    told = later(admission.since, max(limit.time - notice, timedelta()))
    return RunEnd(limit, told, later(admission.since, limit.time))


def stops_at(workload: Workload, end: RunEnd, now: datetime) -> datetime:
    """Return when it is stopped: at its end, and not before it has known that for as long as notice demands.

    That is later than its end where it could not be told in time: its limit was lowered, or no reconciler ran.
    """
    return max(end.at, later(workload.notice or now, end.at - end.notice))


Settings = TypeVar("Settings", ReclaimSettings, StartupSettings)
_NO_OVERRIDES: Final = (ReclaimOverrides(), StartupOverrides())


def _overridden(settings: Settings, overrides: Sequence[ReclaimOverrides | StartupOverrides]) -> Settings:
    found: dict[str, Any] = {}
    for each in overrides:
        if each not in _NO_OVERRIDES:
            own = {field.name: getattr(each, field.name) for field in fields(each)}
            found = {**{name: value for name, value in own.items() if value is not None}, **found}
    return replace(settings, **found) if found else settings


_BLOCKS: Final = (BlockAdmission.NONE, BlockAdmission.GROUP, BlockAdmission.CLUSTER)
"""From least to most."""
LifecycleValue = timedelta | BlockAdmission


def above_maximum(
    own: object, most: ReclaimMaxima | StartupMaxima | QueueingMaxima | RunTimeMaxima
) -> Iterator[tuple[str, LifecycleValue, LifecycleValue]]:
    """Yield (name, value, maximum) of every setting of `own` that is above its maximum."""
    for field in fields(most):
        value, bound = getattr(own, field.name), getattr(most, field.name)
        if value is not None and bound is not None and size_of(value) > size_of(bound):
            yield field.name, value, bound


def within_maxima(settings: Settings, most: ReclaimMaxima | StartupMaxima) -> Settings:
    """Return the settings with each at most its maximum."""
    lowered: dict[str, Any] = {name: bound for name, _, bound in above_maximum(settings, most)}
    return replace(settings, **lowered) if lowered else settings


def size_of(value: LifecycleValue) -> int:
    """Return a number that grows with the value: microseconds of a duration."""
    return _BLOCKS.index(value) if isinstance(value, BlockAdmission) else value // timedelta(microseconds=1)


def written_name(name: str) -> str:
    """Return how a setting is written in manifests and settings files."""
    first, *others = name.split("_")
    return first + "".join(each.title() for each in others)
