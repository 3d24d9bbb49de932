"""What a rule may read beside the tree itself: flavors, each group's workloads, capacity, the depth allowed."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import GroupMaxima
from shared.quota.model.tree import UNLABELLED_FLAVORS, Group, Tree
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True)
class GroupWorkloads:
    """The unfinished Jobs and pods that resolve to one group; `non_preemptible`: the use that cannot be recycled."""

    pending: int = 0
    running: int = 0
    non_preemptible: Mapping[FlavorResource, Amount] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.pending + self.running > 0

    def __str__(self) -> str:
        return f"{self.pending} pending, {self.running} running"


NO_WORKLOADS: Final = GroupWorkloads()


def nothing_promised(_key: FlavorResource) -> bool:
    """Return False, whatever the key: root's capacity is not what the first level is promised."""
    return False


def no_workloads(_group: str) -> GroupWorkloads:
    """Return no workloads, whatever the group: for where none are known."""
    return NO_WORKLOADS


@dataclass(frozen=True, slots=True)
class Context:
    """Everything beside the tree. `capacity` None: not known, so nothing is compared with it."""

    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    workloads: Callable[[str], GroupWorkloads] = no_workloads
    max_depth: int = 16
    capacity: Mapping[FlavorResource, Amount] | None = None
    maxima: GroupMaxima = field(default_factory=GroupMaxima)
    counts_nodes: bool = True
    """Whether capacity comes from nodes, so that it matters which nodes a flavor has."""
    measured: frozenset[str] | None = None
    """The flavors whose capacity is known; None: all. A flavor that was just created is not measured yet."""

    namespaces: Collection[str] | None = None
    """The names of all namespaces; None: not known."""
    promised: Callable[[FlavorResource], bool] = nothing_promised
    """Whether root's capacity of a key is what the first level is promised: `QuotaSettings.is_promised`."""

    now: datetime | None = None
    """None: not known, so that nothing is compared with it."""

    def has_flavor(self, name: str) -> bool:
        """Return whether the flavor exists; `default` does from the first start."""
        return name in UNLABELLED_FLAVORS or name in self.flavors


@dataclass(frozen=True, slots=True)
class TreeEdit:
    """One edit: the trees before and after differ in the group `name` only."""

    before: Tree
    after: Tree
    name: str

    @property
    def old(self) -> Group | None:
        """The group as it was; None when it is being created."""
        return self.before.get(self.name)

    @property
    def new(self) -> Group | None:
        """The group as it will be; None when it is being deleted."""
        return self.after.get(self.name)
