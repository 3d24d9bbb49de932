"""What controllers have done, as a decision knows it from pods, which are not recorded. Pure."""

from collections.abc import Iterable

from shared.quota.measure.inputs.workload_set import WorkloadSet
from shared.quota.measure.inputs.world import World
from shared.quota.model.workload import Workload
from shared.recording.lines import log_name_of


class KnownByPods:
    """The workloads whose controllers have yet to react, as the latest decision knew."""

    def __init__(self) -> None:
        self._world: World | None = None
        self._unnoted: dict[str, set[str]] = {}
        """Leaf → the names by which the log calls its workloads whose start is not noted."""
        self._stopping: dict[str, set[str]] = {}
        """Leaf → those that are evicted and use something."""

    def take(self, world: World) -> tuple[list[str], list[str]]:
        """Return the workloads whose start is noted in `world` and was not when this was last called, and the evicted
        ones that used something then, and nothing in `world`.
        """
        leaves = world.workload_sets if self._world is None else world.changed_since(self._world)
        self._world = world
        noted, freed = set[str](), set[str]()
        for leaf in leaves:
            held = world.workloads_of(leaf)
            noted |= _gone(self._unnoted, leaf, _unnoted_in(held)) & _names(held.admitted)
            freed |= _gone(self._stopping, leaf, _names(each for each in held.evicting if any(each.request.values())))
        return sorted(noted), sorted(freed)


def _unnoted_in(held: WorkloadSet) -> set[str]:
    return _names(each for each in held.admitted if not each.is_answered)


def _gone(known: dict[str, set[str]], leaf: str, now: set[str]) -> set[str]:
    """Replace what is known of the leaf; return what was known and is not there now."""
    before = known.pop(leaf, set[str]())
    if now:
        known[leaf] = now
    return before - now


def _names(workloads: Iterable[Workload]) -> set[str]:
    return set(map(log_name_of, workloads))
