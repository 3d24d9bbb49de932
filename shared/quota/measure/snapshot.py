"""The frozen facts that one decision is made on: every group's numbers, and every leaf's work in order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from shared.quota.measure.bounds import UNBOUND, binding_group
from shared.quota.measure.ground import lay_ground
from shared.quota.measure.leaves import HeldClaim, LeafState
from shared.quota.measure.ledger import Ledger, settle
from shared.quota.measure.numbers import GroupNumbers
from shared.quota.measure.work import read_work
from shared.quota.measure.world import World
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.workload import AskerId, Workload
from shared.resources import Amount, FlavorResource

__all__ = ["HeldClaim", "LeafState", "Snapshot", "measure"]


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
    ledger: Ledger = field(repr=False)
    """What the next measure builds on; nobody else's business."""

    def most(self, leaf: str, key: FlavorResource) -> tuple[Amount, str]:
        """The largest request of `leaf` that could ever fit, and the group that binds; below 0 where nothing fits."""
        bounds = self.ledger.work.ground.bounds.get(key, {})
        return bounds.get(leaf, UNBOUND).room, binding_group(self.ledger.work.ground.frame, bounds, leaf, key)


def measure(world: World, now: datetime, previous: Snapshot | None = None) -> Snapshot:
    """Work out every number of the arithmetic. `previous`: share what has not changed since; the result is equal."""
    former = previous.ledger if previous is not None else None
    ground = lay_ground(world, former.work.world if former else None, former.work.ground if former else None)
    work = read_work(world, now, ground, former.work if former else None)
    ledger = settle(work, former)
    return Snapshot(
        world=world,
        now=now,
        numbers=ledger.numbers,
        leaves=work.leaves,
        capacity=ground.frame.capacity,
        claims=work.claims,
        inactive=ground.inactive,
        homeless=tuple(workload for bucket in ground.homeless for workload in bucket.by_id.values()),
        ledger=ledger,
    )
