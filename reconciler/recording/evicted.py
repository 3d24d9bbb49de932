"""Which evicted workloads have no pods any more: their pods are made by controllers, and are not recorded. Pure."""

from shared.quota.measure.inputs.world import World


class EvictedWorkloads:
    """Those that still use something, as the latest decision knew."""

    def __init__(self) -> None:
        self._world: World | None = None
        self._using: dict[str, set[str]] = {}
        """Leaf → the names by which the log calls its evicted workloads that use something."""

    def take_freed(self, world: World) -> list[str]:
        """Return what used something when this was last called, and uses nothing in `world`."""
        leaves = world.workload_sets if self._world is None else world.changed_since(self._world)
        self._world = world
        freed = set[str]()
        for leaf in leaves:
            before = self._using.pop(leaf, set[str]())
            evicting = (each for each in world.workloads_of(leaf).evicting if any(each.request.values()))
            if using := {f"{each.kind}/{each.key}" for each in evicting}:
                self._using[leaf] = using
            freed |= before - using
        return sorted(freed)
