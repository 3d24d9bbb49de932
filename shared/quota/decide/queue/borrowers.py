"""Which leaves take part in a borrowing pass, and with which head.

The head of a leaf that waits is the first of its steps that fits into what is available below its parent when the pass
begins. Leaves below one parent are looked at together, when one of their heads could be the best: until then, their
steps merged say what they could take. The queue of a leaf is evaluated instead, and at once, where its steps do not
hold, because the round has changed the leaf or because some workload there might be entitled.

A leaf without a head takes no part in the pass: what is available only shrinks, so what does not fit when the pass
begins need not be tried again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from shared.quota.decide.queue.fair_sharing import QueueHead, Unopened
from shared.quota.decide.queue.leaf_queue import LeafQueue
from shared.quota.decide.state.eviction_plan import Preemptor
from shared.quota.decide.state.flavor_assignment import Candidate
from shared.quota.decide.state.pods_ready import AdmissionBlock
from shared.quota.decide.state.round_input import RoundInput
from shared.quota.decide.state.round_usage import Room, RoundUsage
from shared.quota.decide.state.steps import (
    LeastNeeds,
    QueueStep,
    StepsBelow,
    StepsOfKeys,
    first_within,
    is_within,
)
from shared.quota.decide.state.usage import GroupPath, Keys
from shared.quota.model.tree import ROOT
from shared.quota.model.workload import WorkloadId

TryHead = Callable[[LeafQueue, QueueHead], None]
"""Starts the head of this queue, or lets it wait."""


def _partly_entitled(inputs: RoundInput) -> Iterator[str]:
    """Yield leaves in whose steps a workload might take its assignments in another order than in this round.

    It can be entitled to some choices of an assignment, and for that what this cycle has started cannot be preempted.
    """
    for name in {each.workload.group for each in inputs.taken_over.starts}:
        if inputs.classes(name).known.non_simple:
            yield name


class Borrowers:
    """The leaves of one borrowing pass, and what they need."""

    def __init__(
        self,
        inputs: RoundInput,
        usage: RoundUsage,
        block: AdmissionBlock,
        deferred: Mapping[WorkloadId, Preemptor],
        queue_of: Callable[[str], LeafQueue],
    ) -> None:
        """`deferred`: workloads that are tried whether or not they fit; those that have been tried are removed."""
        self._inputs = inputs
        self._usage = usage
        self._blocked = frozenset(block.leaves)
        """Leaves in which nothing starts since before the pass."""
        self._deferred = deferred
        self._queue_of = queue_of
        self._to_evaluate = {*usage.touched, *inputs.taken_over.barred_leaves, *_partly_entitled(inputs)}
        """Leaves whose steps do not hold in this round."""
        self._steps: dict[str, QueueStep] = {}
        """leaf -> the step by which its head was chosen; only leaves that this pass has not changed."""
        self._queues: dict[str, LeafQueue] = {}
        """leaf -> its queue; only leaves whose queue is evaluated."""
        self._needs: dict[str, list[StepsOfKeys]] = {}
        """parent of leaves -> what the leaves below it that take part need at least; what fits no more is removed."""
        self._open: dict[str, list[GroupPath]] = {}
        """root or a child of root -> the paths of the parents of leaves below it; one with no room left is removed."""

    def heads(self) -> Iterator[QueueHead | Unopened]:
        """Yield the heads, and the parents of leaves of which the steps merged say that something could fit there."""
        cache = self._inputs.cache
        for parent, names in cache.waiting.items():
            below = cache.steps_below(parent, self._inputs.now, self._to_evaluate)
            if len(below.leaves) < len(names):
                yield from filter(None, map(self._evaluated, names - below.leaves))
            unopened = self._unopened(below) if below.leaves else None
            if unopened is not None:
                yield unopened

    def _evaluated(self, name: str) -> QueueHead | None:
        """Evaluate the queue of this leaf; return its head, if it has one."""
        head = None if name in self._blocked else self._next_evaluated(name)
        if head is not None:
            self._take_part(head.path[1:], self._inputs.cache.leaves[name].least_needs)
        return head

    def _unopened(self, below: StepsBelow) -> Unopened | None:
        """Return the leaves whose steps hold, if anything could fit there."""
        path = self._inputs.cache.leaves[next(iter(below.leaves))].leaf.path[1:]
        room = self._usage.room(path)
        takes = set[tuple[bool, Keys]]()
        for keys, least, beyond_min, _ in below.by_keys:
            if is_within(least, room, keys):
                takes.update((each, keys) for each in beyond_min)
        if not takes:
            return None
        self._take_part(path, below.by_keys)
        return Unopened(path, takes, partial(self._heads_of, below.leaves, room))

    def _heads_of(self, names: Iterable[str], room: Room) -> Iterator[QueueHead]:
        """Yield the heads of these leaves, by their steps. `room`: below their parent, when the pass began."""
        leaves, now = self._inputs.cache.leaves, self._inputs.now
        for name in names:
            steps = leaves[name].steps(now)
            step = None if steps is None else first_within(steps, room)
            if step is not None and name not in self._blocked:
                yield self._head_at(name, step)

    def _next_evaluated(self, name: str) -> QueueHead | None:
        """Return the next head of a leaf whose queue is evaluated; quick where not even the least of it fits."""
        known = self._inputs.cache.leaves[name]
        is_deferred = any(each.leaf_usage.name == name for each in self._deferred.values())
        if not is_deferred and not self._has_room(known.leaf.path[1:], known.least_needs):
            return None
        if name not in self._queues:
            self._queues[name] = self._queue_of(name)
        return self._queues[name].next_head()

    def _has_room(self, parent: GroupPath, needs: LeastNeeds) -> bool:
        """Return whether something of these needs is available below the parent.

        Flavors fill up in the order of preference, so the last ones are asked first.
        """
        room = self._usage.room(parent)
        return any(is_within(each.least, room, each.keys) for each in reversed(needs))

    def _head_at(self, name: str, step: QueueStep) -> QueueHead:
        self._steps[name] = step
        leaf = self._inputs.cache.leaves[name].leaf
        return QueueHead(leaf.pending[step.queue_place], step.keys, leaf.path, step.beyond_min)

    def _take_part(self, parent: GroupPath, needs: LeastNeeds) -> None:
        """Note what leaves below this parent need at least."""
        found = self._needs.get(parent[0])
        if found is None:
            found = self._needs[parent[0]] = []
            for group in {ROOT, *parent[-2:]}:
                self._open.setdefault(group, []).append(parent)
        found.extend(needs)

    def is_out(self, group: str) -> bool:
        """Return whether nothing fits any more below root, or below this child of root that is not a leaf.

        What fits no more is removed once: in a whole pass that is one check for each, and one for each call.
        """
        parents = self._open[group]
        while parents:
            path = parents[-1]
            needs, room = self._needs[path[0]], self._usage.room(path)
            while needs and not is_within(needs[-1].least, room, needs[-1].keys):
                needs.pop()
            if needs:
                return False
            parents.pop()
        return True

    def take_turn(self, head: QueueHead, try_head: TryHead) -> QueueHead | None:
        """Try the best head; return the next head of its leaf.

        If the leaf has not changed and its head does not fit any more, the first step that fits gives the next head.
        """
        name = head.path[0]
        if name not in self._steps:
            try_head(self._queues[name], head)
            return self._next_evaluated(name)
        chosen, known = self._steps.pop(name), self._inputs.cache.leaves[name]
        steps = known.steps(self._inputs.now)
        room = self._usage.room(head.path[1:])
        step = None if steps is None else first_within(steps, room, chosen.queue_place)
        if step is None:
            return None
        if step.queue_place != chosen.queue_place:
            return self._head_at(name, step)
        queue = self._queues[name] = self._queue_of(name)
        queue.go_to(chosen.queue_place)
        try_head(queue, head._replace(chosen=Candidate(step.assignment, entitled=False, starts=True, rank=())))
        # Those whom the head held back may follow now, and they may need less.
        self._take_part(head.path[1:], known.least_needs)
        return self._next_evaluated(name)
