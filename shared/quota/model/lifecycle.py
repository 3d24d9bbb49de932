"""The stop policy and the reclaim and startup settings in force in a group, and whether it is active.

A stop policy holds for the whole subtree, the strictest on the path wins; a child's own policy is in
force again once its ancestors are opened. Settings are the nearest override on the path, else the cluster's, and none
is above its maximum.

See docs/specification.md §4.10 and §11.2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any, Final, TypeVar

from shared.quota.model.settings import (
    BlockAdmission,
    QueueingMaxima,
    QuotaSettings,
    ReclaimMaxima,
    ReclaimSettings,
    StartupMaxima,
    StartupSettings,
)
from shared.quota.model.tree import Group, ReclaimOverrides, StartupOverrides, StopPolicy


@dataclass(frozen=True, slots=True)
class Inactive:
    """Why nothing new starts in a group: a stable CamelCase word, and a sentence.

    `detached`: the group does not reach root (absent parent, cycle), so it has no part in the arithmetic.
    """

    reason: str
    message: str
    detached: bool = False


STRICTNESS: Final = {policy: rank for rank, policy in enumerate(StopPolicy)}
STARTS_NOTHING: Final = frozenset({StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN})


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
    own: object, most: ReclaimMaxima | StartupMaxima | QueueingMaxima
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
