"""What is in force in a group: its stop policy, its reclaim and startup settings, and whether it is active at all.

A stop policy holds for the whole subtree, the strictest on the path wins; a child's own policy is in
force again once its ancestors are opened. Settings are the nearest override on the path, else the cluster's.

See docs/specification.md §4.10 and §11.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeVar

from shared.quota.model.settings import ReclaimSettings, StartupSettings
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
    """The strictest stop policy on `path` (a group, then its ancestors), and the nearest group that sets it."""
    strictest = max(path, key=lambda group: STRICTNESS[group.stop_policy])
    return strictest.stop_policy, strictest.name


def reclaim_in_force(path: Sequence[Group], settings: ReclaimSettings) -> ReclaimSettings:
    """The reclaim settings of the first group of `path`."""
    return _overridden(settings, [group.reclaim for group in path])


def startup_in_force(path: Sequence[Group], settings: StartupSettings) -> StartupSettings:
    """The all-or-nothing settings of the first group of `path`."""
    return _overridden(settings, [group.startup for group in path])


Settings = TypeVar("Settings", ReclaimSettings, StartupSettings)
_NO_OVERRIDES: Final = (ReclaimOverrides(), StartupOverrides())


def _overridden(settings: Settings, overrides: Sequence[ReclaimOverrides | StartupOverrides]) -> Settings:
    found: dict[str, Any] = {}
    for each in overrides:
        if each not in _NO_OVERRIDES:
            said = {field.name: getattr(each, field.name) for field in fields(each)}
            found = {**{name: value for name, value in said.items() if value is not None}, **found}
    return replace(settings, **found) if found else settings
