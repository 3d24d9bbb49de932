"""The groups and how they are related: one immutable tree, used everywhere.

A group names its parent, never its children. A tree may hold anything that could ever be stored, also cycles and
absent parents: `rules` reports what is wrong with it, and every walk here is bounded by the number of groups.

See docs/specification.md §2.1 and §2.2.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Final

from shared.api.core.selectors import LabelSelector
from shared.api.json.unread import Unread
from shared.api.names import COUNTS
from shared.percents import Percent
from shared.quota.model.budgets.budget import Budget, SpentBudget
from shared.quota.model.settings import BlockAdmission, ReclaimMode
from shared.resources import Amount

ROOT: Final = "root"
SYSTEM: Final = "system"
DEFAULT: Final = "default"
BUILT_IN: Final = frozenset({ROOT, SYSTEM, DEFAULT})
DEFAULT_FLAVOR: Final = "default"
UNLABELLED_FLAVORS: Final = frozenset({DEFAULT_FLAVOR, COUNTS})
"""Flavors that exist, without labels, also where there is no object of them."""

UTC_NAME: Final = "UTC"

NAMESPACE_ACCOUNTS: Final = "system:serviceaccounts:"
"""Where a leaf's order is by user, what controllers and accounts create in a namespace is of this requester, with the
namespace's name. It is Kubernetes' name of the group of a namespace's accounts, so no user has it."""
WHOLE_WEIGHT: Final = 1000
"""A weight of 1 in the order of a leaf."""

Amounts = Mapping[str, Amount]
NOTHING: Final[Amounts] = MappingProxyType({})
Percents = Mapping[str, Mapping[str, Percent]]
"""Limit, by its name in `Entry` -> resource -> percent of what the parent has."""
NO_PERCENTS: Final[Percents] = MappingProxyType({})
LIMITS: Final = ("min", "max", "borrowing_limit", "lending_limit", "weight")
WRITTEN: Final = dict(zip(LIMITS, ("min", "max", "borrowingLimit", "lendingLimit", "weight"), strict=True))
"""Limit, by its name in `Entry` -> as it is written in an object."""


class QueueingStrategy(StrEnum):
    """Whether the head of a leaf's queue blocks those behind it."""

    STRICT_FIFO = "StrictFIFO"
    BEST_EFFORT_FIFO = "BestEffortFIFO"


class QueueOrder(StrEnum):
    """Which of a leaf's workloads of one priority is next."""

    AGE = "Age"
    NAMESPACE = "Namespace"
    """One of the namespace that has used least in this leaf for its weight."""
    USER = "User"
    """One of the user who has used least in this leaf for their weight."""


class WhenCanBorrow(StrEnum):
    """What to do in a flavor where a workload could start only by borrowing."""

    BORROW = "Borrow"
    TRY_NEXT_FLAVOR = "TryNextFlavor"


class WhenCanReclaim(StrEnum):
    """What to do in a flavor where a workload could start only by recycling others."""

    RECLAIM = "Reclaim"
    TRY_NEXT_FLAVOR = "TryNextFlavor"


class Preemption(StrEnum):
    """Whether higher priority may preempt lower inside the group."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"


class StopPolicy(StrEnum):
    """What a group and its subtree stop doing; ordered from least to most."""

    NONE = "None"
    CLOSE = "Close"
    HOLD = "Hold"
    HOLD_AND_DRAIN_PREEMPTIBLE = "HoldAndDrainPreemptible"
    """Of a spent budget; nobody can write it."""
    HOLD_AND_DRAIN = "HoldAndDrain"


WRITTEN_POLICIES: Final = tuple(each for each in StopPolicy if each is not StopPolicy.HOLD_AND_DRAIN_PREEMPTIBLE)
"""Those that a person can write."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One flavor's quota of one group, in base units. Absent is absent; 0 is a value.

    A limit that is written as a percent is in `percents`; its amount is added by `amounts.resolution.resolve`.
    """

    flavor: str
    min: Amounts = field(default_factory=lambda: NOTHING)
    max: Amounts = field(default_factory=lambda: NOTHING)
    borrowing_limit: Amounts = field(default_factory=lambda: NOTHING)
    lending_limit: Amounts = field(default_factory=lambda: NOTHING)
    weight: Amounts = field(default_factory=lambda: NOTHING)
    percents: Percents = field(default_factory=lambda: NO_PERCENTS)

    @property
    def covered(self) -> frozenset[str]:
        """The resources that its min or max names."""
        if not self.percents:
            return frozenset(self.min) | frozenset(self.max)
        return self.named("min") | self.named("max")

    def named(self, limit: str) -> frozenset[str]:
        """Return the resources of which that limit is written, as an amount or as a percent."""
        amounts: Amounts = getattr(self, limit)
        return frozenset(amounts).union(self.percents[limit]) if limit in self.percents else frozenset(amounts)

    def percent(self, limit: str, resource: str) -> Percent | None:
        """Return the percent as which that limit is written; None where it is not."""
        return self.percents.get(limit, NOTHING).get(resource)


@dataclass(frozen=True, slots=True)
class Override:
    """What a group says differently from `start` until `end`.

    `quotas` name the numbers that are replaced, alone; `budgets` give other hours to budgets that the group has.
    """

    start: datetime
    end: datetime
    quotas: tuple[Entry, ...] = ()
    stop_policy: StopPolicy | None = None
    budgets: tuple[Budget, ...] = ()
    reason: str = ""
    notice_before: timedelta = timedelta()
    """How long before it begins or ends those get notice who go then."""


@dataclass(frozen=True, slots=True)
class Window:
    """What a group says differently for `duration` after each moment of a schedule of cron in a time zone."""

    schedule: str
    duration: timedelta
    zone: str = UTC_NAME
    quotas: tuple[Entry, ...] = ()
    stop_policy: StopPolicy | None = None
    budgets: tuple[Budget, ...] = ()
    reason: str = ""
    notice_before: timedelta = timedelta()
    """How long before it begins or ends those get notice who go then."""


@dataclass(frozen=True, slots=True)
class ReclaimOverrides:
    """A group's own reclaim settings; None keeps the cluster's."""

    mode: ReclaimMode | None = None
    grace_period: timedelta | None = None
    notice: timedelta | None = None
    exempt_after_start: timedelta | None = None
    claim_timeout: timedelta | None = None


@dataclass(frozen=True, slots=True)
class StartupOverrides:
    """A group's own all-or-nothing settings; None keeps the cluster's."""

    wait_for_pods_ready: bool | None = None
    block_admission: BlockAdmission | None = None
    timeout: timedelta | None = None
    recovery_timeout: timedelta | None = None
    backoff_base: timedelta | None = None
    backoff_max: timedelta | None = None
    limit: int | None = None
    gang: bool | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """One node of the tree, as its QuotaGroup object describes it. Only root has no parent."""

    name: str
    parent: str | None = ROOT
    is_parent: bool = False
    quotas: tuple[Entry, ...] = ()
    allow_lending: bool = True
    namespace_selector: LabelSelector | None = None
    queueing: QueueingStrategy = QueueingStrategy.BEST_EFFORT_FIFO
    patience: timedelta | None = None
    """How long others may pass the head of a BestEffortFIFO queue; None keeps the cluster's setting."""
    order: QueueOrder = QueueOrder.AGE
    order_weights: Amounts = field(default_factory=lambda: NOTHING)
    """Namespace or user -> weight in the leaf's order, in thousandths; one that is not named has WHOLE_WEIGHT."""
    when_can_borrow: WhenCanBorrow = WhenCanBorrow.TRY_NEXT_FLAVOR
    when_can_reclaim: WhenCanReclaim = WhenCanReclaim.TRY_NEXT_FLAVOR
    preemption: Preemption = Preemption.LOWER_PRIORITY
    reclaim: ReclaimOverrides = ReclaimOverrides()
    startup: StartupOverrides = StartupOverrides()
    max_run_time: timedelta | None = None
    """How long a workload may run here and below; None: as long as the groups above say."""
    stop_policy: StopPolicy = StopPolicy.NONE
    overrides: tuple[Override, ...] = ()
    windows: tuple[Window, ...] = ()
    require_requests: bool = False
    budgets: tuple[Budget, ...] = ()
    spent: tuple[SpentBudget, ...] = ()
    """Those of its budgets that are spent, in a tree that is in force."""
    uid: str = ""
    created: datetime | None = None
    deleting: bool = False
    """Its deletion was requested, and waits until it holds neither groups nor workloads."""
    unread: tuple[Unread, ...] = ()

    def entry(self, flavor: str) -> Entry | None:
        """Return the quota entry of `flavor`, or None."""
        return next((entry for entry in self.quotas if entry.flavor == flavor), None)


@dataclass(frozen=True)
class Tree:
    """All groups by name. Root is always there; an absent root object means an unlimited one of that name."""

    groups: Mapping[str, Group] = field(default_factory=dict)

    @staticmethod
    def of(groups: Iterable[Group]) -> "Tree":
        """Build a tree; the last of two groups of one name wins. Root is added when absent."""
        by_name = {ROOT: Group(ROOT, parent=None, is_parent=True)}
        by_name.update((group.name, group) for group in groups)
        return Tree(MappingProxyType(by_name))

    def __contains__(self, name: str) -> bool:
        return name in self.groups

    def __getitem__(self, name: str) -> Group:
        return self.groups[name]

    def get(self, name: str) -> Group | None:
        """Return the group of that name, or None."""
        return self.groups.get(name)

    @cached_property
    def _children(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for name in sorted(self.groups):
            parent = self.groups[name].parent
            if parent is not None:
                found.setdefault(parent, []).append(name)
        return {parent: tuple(names) for parent, names in found.items()}

    @cached_property
    def counts(self) -> frozenset[str]:
        """The counts that some group names."""
        found: frozenset[str] = frozenset()
        for group in self.groups.values():
            for entry in group.quotas:
                if entry.flavor == COUNTS:
                    found |= entry.covered
        return found

    @cached_property
    def has_percents(self) -> bool:
        """Whether a limit of some group is written as a percent."""
        for group in self.groups.values():
            for entry in group.quotas:
                if entry.percents:
                    return True
        return False

    def children(self, name: str) -> tuple[str, ...]:
        """Return the names of the groups whose parent is `name`, sorted; the parent itself need not exist."""
        return self._children.get(name, ())

    def path(self, name: str) -> tuple[str, ...]:
        """Return the names from `name` up to the last one that exists; stops before a name would repeat."""
        walked: dict[str, None] = {}
        at: str | None = name
        while at is not None and at in self.groups and at not in walked:
            walked[at] = None
            at = self.groups[at].parent
        return tuple(walked)

    def reaches_root(self, name: str) -> bool:
        """Return whether the path from `name` ends at root: no absent parent, no cycle."""
        path = self.path(name)
        return bool(path) and path[-1] == ROOT

    def subtree(self, name: str) -> Iterator[str]:
        """`name` and all groups below it, parents before children, siblings by name; each once, even in a cycle."""
        seen = {name}
        waiting = [name]
        while waiting:
            at = waiting.pop()
            yield at
            below = [child for child in self.children(at) if child not in seen]
            seen.update(below)
            waiting.extend(reversed(below))

    def leaves_below(self, name: str) -> tuple[str, ...]:
        """Return the names of the leaves in the subtree of `name`, sorted."""
        return tuple(
            sorted(each for each in self.subtree(name) if each in self.groups and not self.groups[each].is_parent)
        )

    def with_group(self, group: Group) -> "Tree":
        """Return this tree with `group` added or replaced."""
        return self._edited(MappingProxyType({**self.groups, group.name: group}), group.name)

    def with_same_parents(self, groups: Mapping[str, Group]) -> "Tree":
        """Return this tree with these groups replaced, each by one that has the same parent."""
        if not groups:
            return self
        after = Tree(MappingProxyType({**self.groups, **groups}))
        if "_children" in self.__dict__:
            after.__dict__["_children"] = self._children
        return after

    def without(self, name: str) -> "Tree":
        """Return this tree without that group; its children then have an absent parent."""
        return self._edited(MappingProxyType({key: group for key, group in self.groups.items() if key != name}), name)

    def _edited(self, groups: Mapping[str, Group], name: str) -> "Tree":
        """Return a tree of `groups` that differs from this one in `name` only; it reuses the index of children."""
        after = Tree(groups)
        if "_children" in self.__dict__:
            old, new = _parent_in(self.groups, name), _parent_in(groups, name)
            after.__dict__["_children"] = self._children if old == new else _move_child(self._children, name, old, new)
        return after


def _parent_in(groups: Mapping[str, Group], name: str) -> str | None:
    group = groups.get(name)
    return None if group is None else group.parent


def _move_child(
    children: Mapping[str, tuple[str, ...]], name: str, old: str | None, new: str | None
) -> Mapping[str, tuple[str, ...]]:
    """Return the index of children after `name` moved from `old` to `new`; either may be None."""
    index = dict(children)
    if old is not None:
        index[old] = tuple(child for child in index[old] if child != name)
    if new is not None:
        siblings = index.get(new, ())
        at = bisect_left(siblings, name)
        index[new] = (*siblings[:at], name, *siblings[at:])
    return index
