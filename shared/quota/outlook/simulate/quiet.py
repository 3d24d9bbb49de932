"""When a plan would change nothing, whatever has ended: nothing waits, and nobody has more than its runtime. Pure."""

from collections.abc import Callable

from shared.quota.decide.decisions import Plan
from shared.quota.measure.inputs.workload_set import WorkloadSet
from shared.quota.measure.inputs.world import World
from shared.quota.measure.leaves.leaf_snapshot import LeafSnapshot
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.settings import QuotaSettings, ReclaimMode
from shared.quota.model.tree import Tree

Spares = Callable[[World, Snapshot, Plan | None], bool]
"""Says whether another plan of a world can be spared, by the latest snapshot and the plan just made from it, if any."""


def never(_world: World, _snapshot: Snapshot, _latest: Plan | None) -> bool:
    """Spare no plan: every moment has its own numbers."""
    return False


class Quiet:
    """Says whether a plan would change nothing, of worlds that follow each other. Costs what changed between them."""

    def __init__(self) -> None:
        self._world: World | None = None
        self._active: set[str] = set()
        """Groups in which something waits, or is to change."""
        self._strict: tuple[Tree, QuotaSettings, bool] | None = None
        """Whether with this tree and these settings a leaf reclaims in Strict mode."""

    def __call__(self, world: World, snapshot: Snapshot, latest: Plan | None) -> bool:
        """Return whether a plan would change nothing."""
        changed = world.workload_sets if self._world is None else world.changed_since(self._world)
        for name in changed:
            (self._active.discard if _is_still(world.workloads_of(name)) else self._active.add)(name)
        self._world = world
        if self._active or world.over_since or self._has_strict(snapshot):
            return False
        return latest is None or _is_enough(snapshot, latest)

    def _has_strict(self, snapshot: Snapshot) -> bool:
        tree, settings, known = snapshot.world.tree, snapshot.world.settings, self._strict
        if known is None or known[0] is not tree or known[1] is not settings:
            known = self._strict = tree, settings, any(map(_is_strict, snapshot.leaves.values()))
        return known[2]


def _is_enough(snapshot: Snapshot, latest: Plan) -> bool:
    """Return whether the leaves of all that starts have a runtime for all that they use then.

    Not where a run that starts has a limit: the next plan says when it ends.
    """
    workloads = [start.workload for start in latest.starts]
    if latest.evictions or any(each.max_run_time or snapshot.leaves[each.group].run_time for each in workloads):
        return False
    return all(own.request <= own.runtime for each in workloads for own in snapshot.numbers[each.group].values())


def _is_strict(leaf: LeafSnapshot) -> bool:
    return leaf.reclaim.mode is ReclaimMode.STRICT


def _is_still(workloads: WorkloadSet) -> bool:
    """Return whether all of these run, and nothing of them is to change."""
    waiting = workloads.queue or workloads.backing_off or workloads.set_aside
    return not (waiting or workloads.evicting or workloads.noticed or workloads.with_turn)
