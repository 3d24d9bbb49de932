"""The frozen facts that one decision is made on: every group's numbers, and every leaf's work in order."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from shared.quota.measure.numbers import GroupNumbers
from shared.quota.measure.world import World
from shared.quota.model.eligibility import Options
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.settings import ReclaimSettings, StartupSettings
from shared.quota.model.tree import Group, StopPolicy
from shared.quota.model.workload import AskerId, Flavors, Workload
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """Room that is being freed for `asker`; None: no pending workload of that name and uid waits in an active leaf."""

    asker_id: AskerId
    asker: Workload | None
    flavors: Flavors
    made: datetime
    victims: tuple[Workload, ...]


@dataclass(frozen=True, slots=True, eq=False)
class LeafState:
    """One leaf as it stands. The same object in two snapshots means: nothing in it has changed."""

    group: Group
    path: tuple[str, ...]
    """Names from the leaf up to root."""
    stop: StopPolicy
    """In force here: the strictest on the path."""
    stopped_by: str
    """The group that says so, nearest first; the leaf's own name when nothing is stopped."""
    inactive: Inactive | None
    reclaim: ReclaimSettings
    startup: StartupSettings
    pending: tuple[Workload, ...]
    """Work that may be started now as far as it alone is concerned, in the leaf's order; also in a stopped leaf."""
    aside: tuple[Workload, ...]
    """Held, backing off, deactivated: not considered, not counted."""
    admitted: tuple[Workload, ...]
    """Holding quota and not being evicted, in the leaf's order."""
    evicting: tuple[Workload, ...]
    unready: tuple[Workload, ...]
    """Those of `admitted` whose pods are not all ready; empty where the leaf does not wait for pods."""
    claims: Mapping[AskerId, HeldClaim]
    """By asker: claims of this leaf's pending work."""
    next_change: datetime | None
    """When the passing of time alone changes this leaf: the end of a back-off."""

    @property
    def may_start(self) -> bool:
        """Whether anything new starts here: the leaf is active and neither on Hold nor draining."""
        return self.inactive is None and self.stop in (StopPolicy.NONE, StopPolicy.CLOSE)

    def options(self, workload: Workload) -> Options:
        """Which flavors `workload` may take here; remembered per shape of work."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Everything a decision may look at."""

    world: World
    now: datetime
    numbers: Mapping[str, GroupNumbers]
    """group -> key -> numbers. Root has every key; a group the keys that it covers or uses."""
    leaves: Mapping[str, LeafState]
    """Every leaf that reaches root except `system`, by name."""
    capacity: Mapping[FlavorResource, Amount]
    """Root's capacity before anything is taken off; its runtime is `numbers[ROOT][key].runtime`."""
    claims: Mapping[AskerId, HeldClaim]
    """All claims found on victims that are not fulfilled, also those whose asker has gone or may not start."""
    inactive: Mapping[str, Inactive]
    """Groups in which nothing new starts: told by the world, or not reaching root."""
    homeless: tuple[Workload, ...]
    """Work whose group is absent, is no leaf, or does not reach root."""


def measure(world: World, now: datetime, previous: Snapshot | None = None) -> Snapshot:
    """Work out every number of the arithmetic. `previous`: share what has not changed since; the result is equal."""
    raise NotImplementedError
