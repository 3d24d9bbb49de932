"""What controllers have done, as a decision knows it from pods, which are not recorded. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from shared.quota.measure.inputs.workload_set import WorkloadSet
from shared.quota.measure.inputs.world import World
from shared.quota.model.workload import Workload
from shared.recording.lines import LogLine, log_name_of


class KnownByPods:
    """The workloads whose controllers have yet to react, as the latest decision knew."""

    def __init__(self) -> None:
        self._world: World | None = None
        self._unnoted: dict[str, set[str]] = {}
        """Leaf → the names by which the log calls its workloads whose start is not noted."""
        self._stopping: dict[str, set[str]] = {}
        """Leaf → those that are evicted and use something."""

    def take(self, world: World, now: datetime) -> LogLine:
        """Return the line of a decision on `world` at `now`: what it knows and was not so when this was last called."""
        before, self._world = self._world, world
        leaves = world.workload_sets if before is None else world.changed_since(before)
        noted, freed, ended = set[str](), set[str](), set[str]()
        for leaf in leaves:
            held = world.workloads_of(leaf)
            running = _names(held.admitted)
            noted |= _gone(self._unnoted, leaf, _unnoted_in(held)) & running
            # What runs again at the next decision was not stopped: its eviction could not be written.
            stopping = _names(each for each in held.evicting if any(each.request.values()))
            freed |= _gone(self._stopping, leaf, stopping) - running
            ended |= _names(_without_use(held, None if before is None else before.workloads_of(leaf)))
        return LogLine(now, decided=True, noted=(*sorted(noted),), freed=(*sorted(freed),), ended=(*sorted(ended),))


def _unnoted_in(held: WorkloadSet) -> set[str]:
    return _names(each for each in held.admitted if not each.is_answered)


def _without_use(held: WorkloadSet, before: WorkloadSet | None) -> Iterator[Workload]:
    """Yield what runs and uses nothing, but used something before: all of its pods have ended."""
    if before is None:
        return
    for each in held.admitted:
        if not any(each.request.values()):
            known = before.by_id.get(each.id)
            if known is not None and any(known.request.values()):
                yield each


def _gone(known: dict[str, set[str]], leaf: str, now: set[str]) -> set[str]:
    """Replace what is known of the leaf; return what was known and is not there now."""
    before = known.pop(leaf, set[str]())
    if now:
        known[leaf] = now
    return before - now


def _names(workloads: Iterable[Workload]) -> set[str]:
    return set(map(log_name_of, workloads))
