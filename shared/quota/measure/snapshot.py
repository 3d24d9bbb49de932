"""The frozen facts that one decision is made on: every group's numbers, and every leaf's work in order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from shared.quota.measure.group_usage import GroupNumbers
from shared.quota.measure.groups.incremental import Measurement, compute_measurement
from shared.quota.measure.inputs.world import World
from shared.quota.measure.leaves.leaf_snapshot import LeafSnapshot, OpenClaim
from shared.quota.measure.leaves.leaf_updates import build_leaves
from shared.quota.measure.static.potential_available import UNBOUND, binding_group
from shared.quota.measure.static.static_state import build_static_state
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.workload import PreemptorId, Workload
from shared.resources import Amount, FlavorResource

__all__ = ["LeafSnapshot", "OpenClaim", "Snapshot", "measure"]


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Everything a decision may look at."""

    world: World
    now: datetime
    numbers: Mapping[str, GroupNumbers]
    """group -> key -> numbers. Root has every key; a group the keys that it covers or uses."""
    leaves: Mapping[str, LeafSnapshot]
    """Every leaf that reaches root except `system`, by name."""
    capacity: Mapping[FlavorResource, Amount]
    """Root's capacity before anything is taken off; its runtime is `numbers[ROOT][key].runtime`."""
    claims: Mapping[PreemptorId, OpenClaim]
    """All claims found on victims that are not fulfilled, also those whose preemptor has gone or may not start."""
    inactive: Mapping[str, Inactive]
    """Groups in which nothing new starts: told by the world, or not reaching root."""
    orphaned: tuple[Workload, ...]
    """Work whose group is absent, is no leaf, or does not reach root."""
    ledger: Measurement = field(repr=False)
    """What the next measure builds on; nobody else's business."""

    def most(self, leaf: str, key: FlavorResource) -> tuple[Amount, str]:
        """The largest request of `leaf` that could ever fit, and the group that binds; below 0 where nothing fits."""
        bounds = self.ledger.work.ground.bounds.get(key, {})
        return bounds.get(leaf, UNBOUND).room, binding_group(self.ledger.work.ground.frame, bounds, leaf, key)


def measure(world: World, now: datetime, previous: Snapshot | None = None) -> Snapshot:
    """Work out every number of the arithmetic. `previous`: share what has not changed since; the result is equal."""
    base = previous.ledger if previous is not None else None
    ground = build_static_state(world, base.work.world if base else None, base.work.ground if base else None)
    work = build_leaves(world, now, ground, base.work if base else None)
    ledger = compute_measurement(work, base)
    return Snapshot(
        world=world,
        now=now,
        numbers=ledger.numbers,
        leaves=work.leaves,
        capacity=ground.frame.capacity,
        claims=work.claims,
        inactive=ground.inactive,
        orphaned=tuple(workload for bucket in ground.orphaned for workload in bucket.by_id.values()),
        ledger=ledger,
    )
