"""One search for remedies: the world, the workload that waits in it, and the smallest change that has an effect."""

from collections.abc import Callable, Iterator, Sequence
from math import gcd
from typing import Final

from shared.quota.decide.advise import changes
from shared.quota.decide.advise.smallest import WRITTEN, SmallestNumber, rounded_up, smallest
from shared.quota.decide.advise.starting import Trial
from shared.quota.decide.explain.explanation import WorkloadExplanation
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.settings import CapacitySource
from shared.quota.model.workload import Workload
from shared.resources import MAX_AMOUNT, Amount, FlavorResource

MOST_SCANNED: Final = 2_000
"""Number of workloads up to which every amount is tried; with more, one try takes too long to scan amounts."""


class Search:
    """What all kinds of remedies have in common."""

    def __init__(
        self, snapshot: Snapshot, world: World, workload: Workload, trial: Trial, explanation: WorkloadExplanation
    ) -> None:
        self.snapshot = snapshot
        self.world = world
        self.workload = workload
        self.explanation = explanation
        self.keys = tuple(dict.fromkeys(_keys(world, workload)))
        """The keys that the workload could take."""
        self._trial = trial
        bindings = [each.binding for each in explanation.flavors if each.binding is not None]
        self._hints = [each.missing for each in bindings]
        workloads = sum(len(each.by_id) for each in world.workload_sets.values())
        self._written = WRITTEN if workloads <= MOST_SCANNED else ()

    def starts(self, world: World | None) -> bool:
        """Return whether the workload starts in the next cycles of this world; it never does in None."""
        return self._trial.starts(world)

    def before_it(self) -> Sequence[Workload]:
        """Return the workloads before it in the queue of its leaf."""
        leaf = self.snapshot.leaves.get(self.workload.group)
        return leaf.pending[: max(0, self.explanation.position - 1)] if leaf is not None else ()

    def smallest_of(
        self, key: FlavorResource, after: Callable[[int], World | None], most: Amount = MAX_AMOUNT
    ) -> SmallestNumber | None:
        """Return by how much of a key, up to `most`, the world must change, as a person would write it.

        The workload's own request is often the answer.
        """
        most = min(most, self.most(key))
        own, unit = self.workload.request.get(key.resource, 0), self.unit(key.resource)
        found = smallest(lambda by: self.starts(after(by)), most, (*self._hints, own), unit, self._written)
        return found and self._rounded(key.resource, found, after, most)

    def smallest_effect(self, after: Callable[[int], World | None], most: int) -> int | None:
        """Return by which number, up to `most`, the world must change."""
        found = smallest(lambda by: self.starts(after(by)), most, self._hints)
        return found and found.number

    def least_taken_away(
        self, resource: str, after: Callable[[int], World | None], most: Amount
    ) -> SmallestNumber | None:
        """Return how much less, up to `most`, of a resource the workload must request."""
        found = smallest(lambda by: self.starts(after(by)), most, self._hints, self.unit(resource))
        return found and self._rounded(resource, found, after, most)

    def up_to_the_clusters_size(self, key: FlavorResource, limit: Amount) -> Amount:
        """Return by how much a limit can be raised until it says as much as the cluster has."""
        if self.world.settings.capacity_source is CapacitySource.GROUPS:
            return MAX_AMOUNT
        return max(0, self.snapshot.capacity.get(key, 0) - limit)

    def _rounded(
        self, resource: str, found: SmallestNumber, after: Callable[[int], World | None], most: Amount
    ) -> SmallestNumber:
        """Round the amount up, unless that has no effect."""
        written = rounded_up(resource, found.number)
        if written == found.number or written > most or not self.starts(after(written)):
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


def _keys(world: World, workload: Workload) -> Iterator[FlavorResource]:
    group = world.tree.get(workload.group)
    for entry in group.quotas if group is not None else ():
        if workload.only_flavor in (None, entry.flavor):
            for resource in sorted(entry.covered):
                if workload.request.get(resource, 0) > 0:
                    yield FlavorResource(entry.flavor, resource)
