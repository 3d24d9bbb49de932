"""Which leaves and groups have room for something that waits there, in one borrowing pass: now, or when it began."""

from collections.abc import Mapping

from shared.quota.decide.queue.predictions import Predictions
from shared.quota.decide.state.cycle_cache import LeafCache
from shared.quota.decide.state.eviction_plan import Preemptor
from shared.quota.decide.state.round_input import RoundInput
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.smallest_requests import SmallestRequests, could_fit, is_within
from shared.quota.decide.state.usage import Available, GroupPath, Keys
from shared.quota.measure.group_usage import NO_NUMBERS
from shared.quota.model.tree import ROOT, QueueingStrategy
from shared.quota.model.workload import WorkloadId
from shared.resources import Amount, FlavorResource


class RoomForBorrowers:
    """What fits where. What is available changes only when a workload starts, or a deferred one is tried."""

    def __init__(
        self, predictions: Predictions, inputs: RoundInput, usage: RoundUsage, deferred: Mapping[WorkloadId, Preemptor]
    ) -> None:
        self._inputs = inputs
        self._leaves = inputs.cache.leaves
        self._tree = inputs.cache.tree
        self._usage = usage
        self._predictions = predictions
        self._at_first = predictions.views
        self._keys = tuple(inputs.snapshot.numbers[ROOT])
        self._deferred = deferred
        self._deferred_in: dict[str, list[WorkloadId]] = {}
        for each, preemptor in deferred.items():
            self._deferred_in.setdefault(preemptor.leaf_usage.name, []).append(each)
        self._noted = len(usage.starts)
        self._at_beginning = self._moment
        self._places: dict[str, int | None] = {}
        """By leaf: the place in its queue before which nothing fitted when the pass began; None: nothing did."""
        self._ordered = {self._leaves[name].leaf.path[1] for name in usage.touched if self._held_back(name)}
        """Parents of leaves in which workloads waited behind a head that might have started."""

    @property
    def _moment(self) -> int:
        """Incremented whenever available amounts might have changed."""
        return len(self._usage.starts) - len(self._deferred)

    @property
    def is_as_it_was(self) -> bool:
        """Whether the pass has started nothing so far, and tried no deferred workload."""
        return self._moment == self._at_beginning

    def could_have_fitted(self, group: str) -> bool:
        """Return whether the least that is requested in that subtree was available when the pass began."""
        requests, cached = self._tree.requests.get(group), self._leaves.get(group)
        if not requests:
            return False
        if cached is None:
            path = self._tree.paths[group]
            return self._tree.has_guarantee_below(group) or could_fit(requests, self._at_first.room(path))
        room = self._room(cached.leaf.path[1], at_first=True)
        if self._was_too_little(cached, room):
            return False
        return could_fit(requests, self._with_guarantee(cached, room))

    def had_room(self, path: GroupPath, keys: Keys, amounts: tuple[Amount, ...]) -> bool:
        """Return whether that much was available when the pass began."""
        available = self._at_first.room(path)
        return all(amount <= available(key) for key, amount in zip(keys, amounts, strict=True))

    def fits_within_min(self, leaf: str) -> bool:
        """Return whether some workload of the leaf could have fitted and would keep its used within effectiveMin."""
        cached = self._leaves[leaf]
        if self._usage.is_touched(leaf):
            return True
        room = self._with_guarantee(cached, self._room(cached.leaf.path[1], at_first=True))

        def within_min(key: FlavorResource) -> Amount:
            numbers = cached.numbers.get(key, NO_NUMBERS)
            return min(room(key), numbers.effective_min - numbers.used)

        return self._inputs.queue(leaf).first_within(self._keys, within_min) is not None

    def is_out(self, group: str) -> bool:
        """Return whether nothing in that subtree fits any more."""
        if self._noted != len(self._usage.starts):
            self._note_starts()
        cached, requests = self._leaves.get(group), self._tree.requests.get(group)
        if self._deferred and (cached is None or self._has_deferred(group)):
            return False
        if not requests:
            return True
        if cached is None:
            return not self._could_fit_below(group, requests)
        return self._place(cached, at_first=self.is_as_it_was) is None

    def _could_fit_below(self, group: str, requests: SmallestRequests) -> bool:
        """Return whether something in that subtree fits."""
        for path in self._tree.bounds(group):
            available = self._room(path[0], at_first=False)
            fits = None if group in self._ordered else self._predictions.could_fit(group, available)
            if fits is None:
                fits = self._tree.has_guarantee_below(group) or could_fit(requests, available)
            if not fits:
                return False
        return True

    def _has_deferred(self, leaf: str) -> bool:
        return any(each in self._deferred for each in self._deferred_in.get(leaf, ()))

    def first_place(self, leaf: str) -> int | None:
        """The place of the first workload in the leaf's queue that fitted when the pass began; None: none did."""
        if leaf not in self._places:
            self._places[leaf] = self._place(self._leaves[leaf], at_first=True)
        return self._places[leaf]

    def _note_starts(self) -> None:
        """Let those behind a StrictFIFO head that has started count in what is requested."""
        started = self._usage.starts[self._noted :]
        self._noted += len(started)
        for leaf in {each.workload.group for each in started}:
            if self._held_back(leaf):
                self._ordered.add(self._leaves[leaf].leaf.path[1])
            if self._leaves[leaf].leaf.group.queueing is QueueingStrategy.STRICT_FIFO:
                self._inputs.cache.count_behind_head(leaf, self._inputs.snapshot)

    def _held_back(self, leaf: str) -> bool:
        return self._leaves[leaf].leaf.held_back_from(self._usage.now) is not None

    def _place(self, cached: LeafCache, *, at_first: bool) -> int | None:
        """The place of the first workload in the leaf's queue that fits, or fitted when the pass began; None: none."""
        name = cached.leaf.group.name
        room, is_touched = self._room(cached.leaf.path[1], at_first=at_first), self._usage.is_touched(name)
        if not is_touched and self._was_too_little(cached, room):
            return None
        if not is_touched and self._predictions.knows_leaf(name):
            return self._predictions.first_within(name, room)
        room = self._with_guarantee(cached, room)
        if not could_fit(self._tree.requests.get(name, {}), room):
            return None
        return self._inputs.queue(name).first_within(self._keys, room)

    def _was_too_little(self, cached: LeafCache, room: Available) -> bool:
        if cached.too_little is None or self._usage.is_touched(cached.leaf.group.name):
            return False
        return is_within(self._keys, room, cached.too_little)

    def _with_guarantee(self, cached: LeafCache, room: Available) -> Available:
        """Not less than what is available to the leaf: what its own guarantee keeps for it is added."""
        if not self._tree.has_guarantee(cached.leaf.group.name):
            return room
        return lambda key: room(key) + cached.numbers.get(key, NO_NUMBERS).guarantee

    def _room(self, parent: str, *, at_first: bool) -> Available:
        """Return what is available below `parent` now, or when the pass began."""
        views = self._at_first if at_first else self._usage
        return views.room(self._tree.paths[parent])
