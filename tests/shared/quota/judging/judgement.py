"""One cycle under review: what was used when a decision was made, what was claimed, who was entitled.

The books advance as the plan is read, in the plan's own order.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice, product

from shared.quota.decide.decisions import Evict, EvictionRule, Plan, WaitReason
from shared.quota.measure.snapshot import LeafSnapshot, Snapshot, measure
from shared.quota.model.workload import Admission, Flavors, Workload, WorkloadId
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.resources import FlavorResource
from tests.shared.quota.reference.usage_by_definition import (
    Book,
    after_evictions,
    asked,
    present,
    ways_to_run,
    what_it_cannot_preempt,
)

KEPT = frozenset({WaitReason.WAITING_FOR_EVICTIONS, WaitReason.ROOM_DELAYED, WaitReason.PODS_NOT_READY})
ENTITLED = frozenset({EvictionRule.RECLAIM, EvictionRule.PREEMPTION})
MOST_WAYS = 64
"""So many choices of flavors are looked at."""


@dataclass(frozen=True)
class Promise:
    """Work that has been promised room, and where."""

    work: Workload
    flavors: Flavors
    borrows: bool = False


def _running(promise: Promise, now: datetime) -> Workload:
    admission = Admission(promise.flavors, now, answered=False)
    return replace(promise.work, admission=admission, eviction=None, notice=None, not_before=None)


@dataclass
class Judgement:
    """The state of the review."""

    snapshot: Snapshot
    plan: Plan
    now_used: Book = field(init=False)
    later_used: Book = field(init=False)
    claims: dict[str, Promise] = field(init=False)
    started: list[Promise] = field(default_factory=list)
    kept: list[Promise] = field(default_factory=list)
    fresh: set[WorkloadId] = field(default_factory=set)
    """Who has started in this cycle before the last measuring: nobody preempts them in it."""
    judged: int = 0
    """How many of the plan's starts have been judged."""

    def __post_init__(self) -> None:
        self._open_books()

    def measure_again(self) -> None:
        """From here on the plan goes by the numbers measured with the starts so far."""
        world = self.snapshot.world.with_changes((each.work, _running(each, self.plan.now)) for each in self.started)
        self.snapshot = measure(world, self.plan.now)
        self.fresh |= {each.work.id for each in self.started}
        self.started = []
        self._open_books()
        self.kept = list(self.room_kept())

    def _open_books(self) -> None:
        self.now_used = present(self.snapshot)
        self.later_used = after_evictions(self.snapshot)
        ended = {end.victim.claim.preemptor_id for end in self.plan.claims_ended if end.victim.claim}
        self.claims = {
            claim.preemptor.key: Promise(claim.preemptor, claim.flavors)
            for leaf in self.snapshot.leaves.values()
            for claim in leaf.claims.values()
            if claim.preemptor is not None and claim.preemptor_id not in ended
        }

    def with_claims(self, book: Book, *, but: Workload | None = None) -> Book:
        """A copy of the book in which all claims but that preemptor's are used."""
        other = book.copy()
        for claim in self.claims.values():
            if but is None or claim.work.id != but.id:
                other.add(claim.work, claim.flavors)
        return other

    def with_promises(self, book: Book, kept: Iterable[Promise] | None = None, *, but: Workload | None = None) -> Book:
        """Return a copy of the book with all claims but that preemptor's, and room kept for entitled work."""
        other = self.with_claims(book, but=but)
        for promise in self.kept if kept is None else kept:
            other.add(promise.work, promise.flavors)
        return other

    def ways_kept(self) -> Iterator[Sequence[Promise]]:
        """`kept`, and the same in other flavors: which of them the engine chose, no plan says.

        A head that has waited for longer than its group's patience holds others back in some flavors, for example.
        """
        yield self.kept
        ways = [
            [Promise(each.work, flavors) for flavors in ways_to_run(self.snapshot, each.work)] for each in self.kept
        ]
        yield from islice(product(*ways), MOST_WAYS)

    def is_tried_before(self, other: Workload, work: Workload) -> bool:
        """Whether the leaf's order puts the other one first; in different leaves nothing tells."""
        pending = self.snapshot.leaves[work.group].pending
        return other in pending and pending.index(other) < pending.index(work)

    def is_entitled(
        self, leaf: LeafSnapshot, work: Workload, flavors: Flavors, promised: Iterable[Promise] = ()
    ) -> bool:
        """Whether its leaf's runtime covers it beside what it cannot preempt: claims, and what came before it."""
        others = [(each.work, each.flavors) for each in (*self.started, *self.claims.values(), *promised)]
        mine = [(other, chosen) for other, chosen in others if other.group == work.group and other.id != work.id]
        total = what_it_cannot_preempt(leaf, work, mine, self.fresh)
        total.update(asked(work, flavors))
        return all(total[key] <= self.now_used.numbers(work.group, key).runtime for key in asked(work, flavors))

    def was_entitled(
        self, leaf: LeafSnapshot, preemptor: Workload, flavors: Flavors, promised: Iterable[Promise] = ()
    ) -> bool:
        """Whether the preemptor was entitled when it was tried: of the starts, those entitled and before it count."""
        every = self.started
        self.started = [each for each in every if not each.borrows and self.is_tried_before(each.work, preemptor)]
        answer = self.is_entitled(leaf, preemptor, flavors, promised)
        self.started = every
        return answer

    def non_preemptible(self, leaf: LeafSnapshot, key: FlavorResource, *, but: Workload) -> int:
        """What work that is not preemptible holds of the leaf, claims and this cycle's starts included."""
        running = [(each, each.admission.flavors) for each in (*leaf.admitted, *leaf.evicting) if each.admission]
        promised = [
            (each.work, each.flavors) for each in (*self.started, *self.claims.values()) if each.work.id != but.id
        ]
        return sum(
            asked(other, chosen).get(key, 0)
            for other, chosen in (*running, *promised)
            if other.group == leaf.path[0] and not other.preemptible
        )

    def beyond_min(self, leaf: LeafSnapshot, work: Workload, flavors: Flavors) -> Iterator[str]:
        if work.preemptible:
            return
        for key, amount in asked(work, flavors).items():
            held = amount + self.non_preemptible(leaf, key, but=work)
            promised = self.now_used.numbers(work.group, key).effective_min
            if held > promised:
                yield f"not preemptible, {held} of {key} with what is held, beyond {promised} in effect"

    def to_come(self) -> list[Promise]:
        """The plan's starts that have not been judged."""
        return [Promise(each.workload, each.flavors) for each in self.plan.starts[self.judged :]]

    def preemptor_of(self, evict: Evict) -> Workload | None:
        asking = None if evict.claim is None else evict.claim.preemptor_id
        every = (work for leaf in self.snapshot.leaves.values() for work in leaf.pending)
        return next((work for work in every if work.preemptor_id == asking), None)

    def promises_made(self) -> Iterator[Promise]:
        """What entitled preemptors are promised in this cycle, each once."""
        seen: set[str] = set()
        for evict in self.plan.evictions:
            preemptor = self.preemptor_of(evict)
            if (
                evict.claim is not None
                and preemptor is not None
                and evict.rule in ENTITLED
                and preemptor.key not in seen
            ):
                seen.add(preemptor.key)
                yield Promise(preemptor, evict.claim.flavors)

    def room_kept(self) -> Iterator[Promise]:
        """Entitled work that waits only for evictions or for a delay to end: its room is as good as claimed.

        Entitled beside what is kept for work before it in its leaf.
        """
        book = self.with_claims(self.later_used.without(*(evict.workload for evict in self.plan.evictions)))
        promised = {promise.work.key: promise for promise in self.promises_made()}
        new = [promise for promise in promised.values() if promise.work.key not in self.claims]
        for promise in new:
            book.add(promise.work, promise.flavors)
        reasons = PendingReasons(self.plan)
        for leaf in self.snapshot.leaves.values():
            before = list(new)
            for work in leaf.pending:
                waiting = reasons.why(work)
                if waiting is None or waiting.reason not in KEPT or work.key in {**self.claims, **promised}:
                    continue
                for flavors in ways_to_run(self.snapshot, work):
                    if any(self.beyond_min(leaf, work, flavors)) or not self.was_entitled(leaf, work, flavors, before):
                        continue
                    if waiting.reason is WaitReason.ROOM_DELAYED or book.fits(work, flavors):
                        book.add(work, flavors)
                        before.append(Promise(work, flavors))
                        yield before[-1]
                        break
