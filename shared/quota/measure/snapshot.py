"""The frozen input of one decision: every group's numbers, and every leaf's workloads in order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from shared.quota.measure.group_usage import GroupNumbers
from shared.quota.measure.groups.incremental import Measurement, compute_measurement
from shared.quota.measure.groups.more_capacity import MoreCapacity, numbers_with, with_more
from shared.quota.measure.inputs.world import World
from shared.quota.measure.leaves.leaf_snapshot import LeafSnapshot, OpenClaim
from shared.quota.measure.leaves.leaf_updates import build_leaves
from shared.quota.measure.static.potential_available import UNBOUND, binding_group
from shared.quota.measure.static.static_state import build_static_state
from shared.quota.measure.turns.division import numbers_with_turns
from shared.quota.measure.turns.holders import Turns, find_turns
from shared.quota.measure.turns.levels import TurnNumbers
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.node import LargestNodes
from shared.quota.model.tree import Tree
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
    """Root's capacity before anything is subtracted; its runtime is `numbers[ROOT][key].runtime`."""
    claims: Mapping[PreemptorId, OpenClaim]
    """All claims found on victims that are not fulfilled, also those whose preemptor is deleted or must not start."""
    inactive: Mapping[str, Inactive]
    """Groups in which nothing new starts: named by the world, or not reaching root."""
    orphaned: tuple[Workload, ...]
    """Workloads whose group is absent, is not a leaf, or does not reach root."""
    turns: Turns
    """Which workloads have a turn; the numbers are as they are with these."""
    measurement: Measurement = field(repr=False)
    """What the next `measure` builds on; for no other use."""

    @property
    def tree(self) -> Tree:
        """The world's tree with the amounts of its percents."""
        return self.measurement.leaf_snapshots.static.tree_index.tree

    @property
    def largest_nodes(self) -> LargestNodes:
        """The largest nodes of each flavor that pods are compared with."""
        return self.measurement.leaf_snapshots.static.offer.nodes

    def largest_fit(self, leaf: str, key: FlavorResource) -> tuple[Amount, str]:
        """Return the largest request that could ever fit in `leaf`, and the group that binds; below 0 if none fits."""
        bounds = self.measurement.leaf_snapshots.static.bounds.get(key, {})
        return bounds.get(leaf, UNBOUND).room, binding_group(
            self.measurement.leaf_snapshots.static.tree_index, bounds, leaf, key
        )

    def certainly_kept(self, group: str, key: FlavorResource) -> Amount:
        """Return what the group keeps while idle, no matter which group gets the units that remain of scaled mins."""
        return self.measurement.leaf_snapshots.static.bounds.get(key, {}).get(group, UNBOUND).kept

    @property
    def before_turns(self) -> TurnNumbers:
        """The numbers as they would be without turns."""
        return TurnNumbers(self.measurement.leaf_snapshots.static.tree_index, self.measurement.numbers)

    def with_more(self, key: FlavorResource, by: Amount) -> MoreCapacity:
        """Return what limits and capacity say if root had so much more of `key`."""
        return with_more(self.measurement, key, by)

    def numbers_with(self, more: MoreCapacity) -> Mapping[str, GroupNumbers]:
        """Return the numbers of that key then, of every group that has it; the same workloads count."""
        return numbers_with(self.measurement, more)

    def unavailable(self, key: FlavorResource) -> Amount:
        """Return how much more `system`, unmanaged pods and orphaned workloads use than there is."""
        static = self.measurement.leaf_snapshots.static
        return max(0, static.outside.get(key, 0) - self.capacity.get(key, 0)) if not static.runtimes.get(key, 0) else 0


def measure(world: World, now: datetime, previous: Snapshot | None = None) -> Snapshot:
    """Compute every number of the arithmetic. `previous`: reuse what has not changed since; the result is equal."""
    base = previous.measurement if previous is not None else None
    static = build_static_state(
        world, base.leaf_snapshots.world if base else None, base.leaf_snapshots.static if base else None
    )
    leaf_snapshots = build_leaves(world, now, static, base.leaf_snapshots if base else None)
    measurement = compute_measurement(leaf_snapshots, base)
    before = TurnNumbers(static.tree_index, measurement.numbers)
    turns = find_turns(leaf_snapshots, before, previous.turns.leaves if previous is not None else frozenset())
    known = previous.numbers if previous is not None else {}
    return Snapshot(
        world=world,
        now=now,
        numbers=numbers_with_turns(before, turns, world.past_use, known),
        leaves=leaf_snapshots.leaves,
        capacity=static.tree_index.capacity,
        claims=leaf_snapshots.claims,
        inactive=static.inactive,
        orphaned=tuple(workload for workload_set in static.orphaned for workload in workload_set.by_id.values()),
        turns=turns,
        measurement=measurement,
    )
