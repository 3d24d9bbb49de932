"""One search for remedies: the world, the workload that waits in it, and the smallest change that has an effect.

What must be resumed first is resumed in the search's world. The reconciler may decide before the next change is made,
and start others in what is free: so each change must do in the world in which it has decided, too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import gcd
from typing import Final

from shared.api.names import COUNTS
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.settings import CapacitySource
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Workload
from shared.quota.outlook.advise import changes
from shared.quota.outlook.advise.smallest import SmallestNumber, amounts_written, rounded_up, smallest
from shared.quota.outlook.advise.starting import Trial
from shared.quota.outlook.explain.explanation import WorkloadExplanation
from shared.resources import MAX_AMOUNT, Amount, FlavorResource

WorldChange = Callable[[World], World | None]
"""A change that a person could make in a world; None where the rules refuse it."""
WorldChangeBy = Callable[[World, int], World | None]
"""A change by a number."""
MOST_SCANNED: Final = 2_000
"""Number of workloads up to which amounts are scanned; with more, one try takes too long."""


class Search:
    """What all kinds of remedies have in common."""

    def __init__(
        self, snapshot: Snapshot, worlds: Sequence[World], trial: Trial, explanation: WorkloadExplanation
    ) -> None:
        """`worlds`: the first is the one to search in; a change must do in the others too."""
        self.snapshot = snapshot
        self.world = worlds[0]
        self._worlds = tuple(worlds)
        self.workload = explanation.workload
        self.explanation = explanation
        self.keys = tuple(dict.fromkeys(keys_of(snapshot.tree, self.workload)))
        """The keys that the workload could take."""
        self._trial = trial
        bindings = [each.binding for each in explanation.flavors if each.binding is not None]
        self._hints = [each.missing for each in bindings]
        workloads = sum(len(each.by_id) for each in self.world.workload_sets.values())
        self._is_small = workloads <= MOST_SCANNED

    def starts(self, change: WorldChange) -> bool:
        """Return whether the workload starts in the next cycles after this change."""
        return all(self._trial.starts(change(world)) for world in self._worlds)

    def starts_at_once(self, steps: Iterable[WorldChange]) -> bool:
        """Return whether it starts if all these changes are made together."""
        return self.starts(lambda world: at_once(world, steps))

    def starts_in_steps(self, steps: Sequence[WorldChange]) -> bool:
        """Return whether it starts if there are cycles between these changes."""
        return all(self._trial.starts(in_steps(self._trial, world, steps)) for world in self._worlds)

    def runs_after_eviction_of(self, other: Workload) -> bool:
        """Return whether the workload runs once the other one was stopped, held for a while, and waits again."""
        return all(self._runs_after_eviction(world, other) for world in self._worlds)

    def _runs_after_eviction(self, world: World, other: Workload) -> bool:
        held = self._trial.at_rest(changes.with_held(world, other))
        back = self._trial.in_the_end(changes.with_resumed(held, other, self.snapshot.now))
        found = changes.current(back, self.workload)
        return found is not None and found.admission is not None and not found.is_evicting

    def before_it(self) -> Sequence[Workload]:
        """Return the workloads before it in the queue of its leaf."""
        leaf = self.snapshot.leaves.get(self.workload.group)
        return leaf.pending[: max(0, self.explanation.position - 1)] if leaf is not None else ()

    def smallest_of(
        self, key: FlavorResource, change: WorldChangeBy, most: Amount = MAX_AMOUNT
    ) -> SmallestNumber | None:
        """Return by how much of a key, up to `most`, the world must change, as a person would write it.

        The workload's own request is often the answer.
        """
        return self._smallest_of(key, self._does(change), most)

    def smallest_in_steps(
        self, key: FlavorResource, steps: Callable[[int], Sequence[WorldChange]], most: Amount
    ) -> SmallestNumber | None:
        """Return the same of an amount in several changes: it must do at once, and with cycles between them."""

        def does(by: int) -> bool:
            changed = steps(by)
            return self.starts_at_once(changed) and (len(changed) == 1 or self.starts_in_steps(changed))

        return self._smallest_of(key, does, most)

    def _smallest_of(self, key: FlavorResource, does: Callable[[int], bool], most: Amount) -> SmallestNumber | None:
        most = min(most, self.most(key))
        own, unit = self.workload.request.get(key.resource, 0), self.unit(key.resource)
        written = self._written(key.resource, unit)
        found = smallest(does, most, (*self._hints, own), unit, written)
        return found and self._rounded(key.resource, found, does, most)

    def smallest_effect(self, change: WorldChangeBy, most: int) -> int | None:
        """Return by which number, up to `most`, the world must change."""
        found = smallest(self._does(change), most, self._hints)
        return found and found.number

    def smallest_repetition(self, step: WorldChange, most: int) -> int | None:
        """Return how often, up to `most`, a change must be made, with cycles after each, until the workload starts."""
        numbers = [self._repetition(world, step, most) for world in self._worlds]
        return None if None in numbers else max(filter(None, numbers))

    def _repetition(self, world: World, step: WorldChange, most: int) -> int | None:
        for number in range(1, most + 1):
            changed = step(world)
            if changed is None:
                return None
            if self._trial.starts(changed):
                return number
            world = self._trial.at_rest(changed)
        return None

    def least_taken_away(self, resource: str, change: WorldChangeBy, most: Amount) -> SmallestNumber | None:
        """Return how much less, up to `most`, of a resource the workload must request."""
        unit = self.unit(resource)
        does = self._does(change)
        found = smallest(does, most, self._hints, unit, self._written(resource, unit))
        return found and self._rounded(resource, found, does, most)

    def _written(self, resource: str, unit: Amount) -> Sequence[Amount]:
        return amounts_written(resource, unit) if self._is_small else ()

    def _does(self, change: WorldChangeBy) -> Callable[[int], bool]:
        return lambda by: self.starts(lambda world: change(world, by))

    def up_to_the_clusters_size(self, key: FlavorResource, limit: Amount) -> Amount:
        """Return by how much a limit can be raised until it says as much as the cluster has."""
        if self.world.settings.capacity_source is CapacitySource.GROUPS:
            return MAX_AMOUNT
        return max(0, self.snapshot.capacity.get(key, 0) - limit)

    def _rounded(
        self, resource: str, found: SmallestNumber, does: Callable[[int], bool], most: Amount
    ) -> SmallestNumber:
        """Round the amount up, unless that has no effect."""
        written = rounded_up(resource, found.number)
        if written == found.number or written > most or not does(written):
            return found
        return found._replace(number=written)

    def unit(self, resource: str) -> Amount:
        """Return what all requests and the workload's own are multiples of."""
        workloads = (each for found in self.world.workload_sets.values() for each in found.by_id.values())
        return gcd(*(each.request.get(resource, 0) for each in workloads)) or 1

    def most(self, key: FlavorResource) -> Amount:
        """Return the amount of a key beyond which nothing changes: all that is requested, promised and there."""
        workloads = (each for found in self.world.workload_sets.values() for each in found.by_id.values())
        requested = sum(each.request.get(key.resource, 0) for each in workloads)
        promised = sum(changes.min_of(group, key) for group in self.snapshot.tree.groups.values())
        return requested + promised + self.snapshot.capacity.get(key, 0)


def at_once(world: World, steps: Iterable[WorldChange]) -> World | None:
    """Return the world after all these changes; None where the rules refuse one."""
    changed: World | None = world
    for step in steps:
        changed = changed and step(changed)
    return changed


def in_steps(trial: Trial, world: World, steps: Sequence[WorldChange]) -> World | None:
    """Return the world after these changes, which comes to rest between them; None where the rules refuse one."""
    *first, last = steps
    for step in first:
        changed = step(world)
        if changed is None:
            return None
        world = trial.at_rest(changed)
    return last(world)


def keys_of(tree: Tree, workload: Workload) -> Iterator[FlavorResource]:
    """Yield the keys that a workload could take."""
    group = tree.get(workload.group)
    for entry in group.quotas if group is not None else ():
        if workload.only_flavor in (None, entry.flavor) or entry.flavor == COUNTS:
            for resource in sorted(entry.covered):
                if workload.request.get(resource, 0) > 0:
                    yield FlavorResource(entry.flavor, resource)
