"""Whether a group gives up its own work although only borrowed work of others would do. docs/specification.md §6.6."""

from collections.abc import Iterator
from dataclasses import dataclass

from shared.quota.decide.decisions import EvictionRule
from shared.quota.model.tree import SYSTEM
from shared.quota.model.workload import Flavors, Workload
from shared.resources import FlavorResource
from tests.shared.quota.judging.judgement import Judgement
from tests.shared.quota.reference.usage_by_definition import Book, asked, ways_to_run


def judge_plan_order(judgement: Judgement) -> Iterator[str]:
    """Name flavors in which another plan could have been carried out now, with borrowed work of others alone.

    Judged in cycles that start nothing and evict for one preemptor alone: there the plan was made on what is known.
    """
    plan = judgement.plan
    preemptors = {evict.claim.preemptor_id if evict.claim else None for evict in plan.evictions}
    if plan.starts or len(preemptors) != 1 or not any(each.rule is EvictionRule.PREEMPTION for each in plan.evictions):
        return
    preemptor, claim = judgement.preemptor_of(plan.evictions[0]), plan.evictions[0].claim
    if preemptor is None or claim is None:
        return
    leaf, used = judgement.snapshot.leaves[preemptor.group], judgement.later_used
    books = [judgement.with_promises(used, kept, but=preemptor) for kept in judgement.ways_kept()]
    for flavors in ways_to_run(judgement.snapshot, preemptor):
        if judgement.now_used.fits(preemptor, flavors) and any(book.fits(preemptor, flavors) for book in books):
            return  # with a start between them, plans keep their order
    for flavors in ways_to_run(judgement.snapshot, preemptor):
        may_have = judgement.was_entitled(leaf, preemptor, flavors) and not any(
            judgement.beyond_min(leaf, preemptor, flavors)
        )
        suffice = (_others_suffice(judgement, book, preemptor, flavors) for book in books)
        if flavors != dict(claim.flavors) and may_have and all(suffice):
            yield f"{preemptor.key} preempts in {dict(claim.flavors)}, but only others would give way in {flavors}"


def _others_suffice(judgement: Judgement, book: Book, work: Workload, flavors: Flavors) -> bool:
    """Whether borrowed work of others that can go now is enough, taken in the order of docs/specification.md §7.3."""
    book = book.copy().add(work, flavors)
    path, gone = book.tree.path(work.group), set[str]()
    while (key := _lacking(book, work, flavors)) is not None:
        above = [name for name in path if book.charge(name, key) > book.numbers(name, key).runtime]
        if not above or above[0] == work.group:
            return False
        spared = path[path.index(above[0]) - 1]
        victim = _Search(judgement, book, key, {spared, SYSTEM}, gone).below(above[0])
        if victim is None:
            return False
        book = book.without(victim)
        gone.add(victim.key)
    return True


def _lacking(book: Book, work: Workload, flavors: Flavors) -> FlavorResource | None:
    keys = asked(work, flavors)
    return next((key for key in keys if any(book.lack(work.group, [key]))), None)


@dataclass(frozen=True)
class _Search:
    """For one victim that uses `key`, outside the groups `spared`, and not one of `gone`."""

    judgement: Judgement
    book: Book
    key: FlavorResource
    spared: set[str]
    gone: set[str]

    def below(self, group: str) -> Workload | None:
        """The first to go: of the branch furthest over its runtime for its weight, weight 0 first."""
        if not self.book.tree[group].is_parent:
            return self._of_leaf(group)
        over = [
            (own.weight > 0, -excess / own.weight if own.weight else 0, name)
            for name in self.book.tree.children(group)
            if name not in self.spared
            for own in (self.book.numbers(name, self.key),)
            if (excess := self.book.charge(name, self.key) - own.runtime) > 0
        ]
        found = (self.below(name) for *_, name in sorted(over))
        return next((each for each in found if each is not None), None)

    def _of_leaf(self, name: str) -> Workload | None:
        leaf, now = self.judgement.snapshot.leaves[name], self.judgement.plan.now
        since = self.judgement.plan.over_since.get((name, self.key), now)
        if leaf.inactive is not None or since + leaf.reclaim.grace_period > now:
            return None
        exempt = leaf.reclaim.exempt_after_start
        can_go = [
            (each.priority, now - each.admission.since, each.key, each)
            for each in leaf.admitted
            if each.preemptible and each.admission is not None and each.key not in self.gone
            if self.key in asked(each, each.admission.flavors) and each.admission.since + exempt <= now
        ]
        return min(can_go, key=lambda each: each[:3])[3] if can_go else None
