"""Whether one cycle did only what the rules allow: each start legal and of the tier it says, each eviction justified.

Brute force where the rules say "never one more than needed": fitting is monotone, so a smaller victim set exists
exactly if some single victim can be put back.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from shared.quota.decide.decisions import Evict, EvictionRule, Plan, Start, Tier
from shared.quota.measure.snapshot import LeafState, Snapshot
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.tree import ROOT
from shared.quota.model.workload import Flavors, Workload
from shared.resources import FlavorResource
from tests.shared.quota.book import Book, after_evictions, asked, present, ways_to_run, what_it_cannot_preempt

FOR_AN_ASKER = frozenset({EvictionRule.RECLAIM, EvictionRule.PREEMPTION, EvictionRule.SWAP})
OF_BORROWED_WORK = FOR_AN_ASKER | {EvictionRule.STRICT}
ENTITLED = frozenset({EvictionRule.RECLAIM, EvictionRule.PREEMPTION})


@dataclass(frozen=True)
class Promise:
    """Work that has been promised room, and where."""

    work: Workload
    flavors: Flavors
    is_swap: bool = False


@dataclass
class Judgement:
    """One cycle under review. The books advance as the plan is read."""

    snapshot: Snapshot
    plan: Plan
    now_used: Book = field(init=False)
    later_used: Book = field(init=False)
    claims: dict[str, Promise] = field(init=False)
    started: list[Promise] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.now_used = present(self.snapshot)
        self.later_used = after_evictions(self.snapshot)
        ended = {end.victim.claim.asker_id for end in self.plan.claims_ended if end.victim.claim}
        self.claims = {
            claim.asker.key: Promise(claim.asker, claim.flavors)
            for leaf in self.snapshot.leaves.values()
            for claim in leaf.claims.values()
            if claim.asker is not None and claim.asker_id not in ended
        }

    def findings(self) -> Iterator[str]:
        """Everything the rules do not allow, one line each."""
        for start in self.plan.starts:
            for found in self._of_start(start):
                yield f"start of {start.workload.key} in {dict(start.flavors)} ({start.tier}): {found}"
        yield from self._of_evictions()

    # --- starts -----------------------------------------------------------------------------------------------------

    def _of_start(self, start: Start) -> Iterator[str]:
        work, flavors = start.workload, start.flavors
        leaf = self.snapshot.leaves[work.group]
        if work not in leaf.pending or not leaf.may_start or any(work.id == each.work.id for each in self.started):
            yield "it may not be considered, or is started twice"
            return
        if dict(flavors) not in ways_to_run(self.snapshot, work):
            yield "it cannot take these flavors"
        claim = self.claims.get(work.key)
        if claim is not None and dict(claim.flavors) == dict(flavors):
            del self.claims[work.key]
        elif claim is None:
            yield from self._of_tier(leaf, start)
        yield from (
            f"no room now: {lack}"
            for lack in self.now_used.copy().add(work, flavors).lack(leaf.path[0], asked(work, flavors))
        )
        yield from self._of_claimed_room(work, flavors)
        yield from self._of_held(leaf, work, flavors)
        self.now_used.add(work, flavors)
        self.later_used.add(work, flavors)
        self.started.append(Promise(work, flavors))

    def _of_tier(self, leaf: LeafState, start: Start) -> Iterator[str]:
        entitled = self.is_entitled(leaf, start.workload, start.flavors)
        if entitled != (start.tier is Tier.ENTITLED):
            yield f"it is {'entitled' if entitled else 'not entitled'}"
        if start.tier is Tier.OPPORTUNISTIC and leaf.reclaim.mode is ReclaimMode.STRICT:
            for key in asked(start.workload, start.flavors):
                if self.now_used.used(leaf.path[0], key) >= self.now_used.numbers(leaf.path[0], key).runtime:
                    yield f"Strict, and its leaf already uses its runtime of {key}"

    def is_entitled(self, leaf: LeafState, work: Workload, flavors: Flavors) -> bool:
        """Whether its leaf's runtime covers it beside what it cannot preempt, starts and claims of this cycle too."""
        others = [(each.work, each.flavors) for each in (*self.started, *self.claims.values())]
        mine = [(other, chosen) for other, chosen in others if other.group == work.group and other.id != work.id]
        total = what_it_cannot_preempt(leaf, work, mine)
        total.update(asked(work, flavors))
        return all(total[key] <= self.now_used.numbers(work.group, key).runtime for key in asked(work, flavors))

    def with_claims(self, book: Book, *, but: Workload | None = None) -> Book:
        """A copy of the book in which all claims but that asker's are used."""
        other = book.copy()
        for claim in self.claims.values():
            if but is None or claim.work.id != but.id:
                other.add(claim.work, claim.flavors)
        return other

    def _of_claimed_room(self, work: Workload, flavors: Flavors) -> Iterator[str]:
        before = self.with_claims(self.later_used, but=work)
        keys = asked(work, flavors)
        if not any(before.lack(work.group, keys)):
            yield from (f"it takes claimed room: {lack}" for lack in before.add(work, flavors).lack(work.group, keys))

    def _of_held(self, leaf: LeafState, work: Workload, flavors: Flavors) -> Iterator[str]:
        if work.preemptible:
            return
        for key, amount in asked(work, flavors).items():
            held = amount + self.held(leaf, key, but=work)
            promised = self.now_used.numbers(work.group, key).effective_min
            if held > promised:
                yield f"not preemptible, {held} of {key} with what is held, beyond {promised} in effect"

    def held(self, leaf: LeafState, key: FlavorResource, *, but: Workload) -> int:
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

    # --- evictions --------------------------------------------------------------------------------------------------

    def _of_evictions(self) -> Iterator[str]:
        before = self.with_claims(self.later_used)
        for evict in self.plan.evictions:
            yield from (
                f"eviction of {evict.workload.key} ({evict.rule}): {found}" for found in self._of_victim(evict, before)
            )
        asking: dict[str, EvictionRule] = {}
        for evict in self.plan.evictions:
            if evict.claim is not None and evict.claim.asker not in asking:
                asking[evict.claim.asker] = evict.rule
                yield from (f"claim of {evict.claim.asker}: {found}" for found in self._of_asker(evict))
        victims = {evict.workload.key: evict for evict in self.plan.evictions}
        gone = self.later_used.without(*(evict.workload for evict in victims.values()))
        for key in asking:
            if key in self.claims:
                claim = self.claims[key]
                lacks = self.with_claims(gone).lack(claim.work.group, asked(claim.work, claim.flavors))
                yield from (f"claim of {key}: its plan is not complete: {lack}" for lack in lacks)
        yield from self._of_spare_victims(gone, asking)
        yield from self._of_limits(gone)
        yield from self._of_strict(gone)

    def _of_victim(self, evict: Evict, before: Book) -> Iterator[str]:
        victim, leaf = evict.workload, self.snapshot.leaves[evict.workload.group]
        if victim not in leaf.admitted or victim.admission is None:
            yield "it is not running"
            return
        if evict.rule in (EvictionRule.STARTUP_TIMEOUT, EvictionRule.RECOVERY_TIMEOUT, EvictionRule.STOP_POLICY):
            return
        now = self.plan.now
        if not victim.preemptible:
            yield "it is not preemptible"
        if evict.rule in OF_BORROWED_WORK and victim.admission.since + leaf.reclaim.minimum_runtime > now:
            yield "it has not run for minimumRuntime"
        if leaf.reclaim.notice and (victim.notice is None or victim.notice + leaf.reclaim.notice > now):
            yield f"told at {victim.notice}, not {leaf.reclaim.notice} before"
        if evict.rule in FOR_AN_ASKER and evict.claim is None:
            yield "for nobody"
        if evict.rule is EvictionRule.RECLAIM:
            yield from self._of_debt(evict, before)

    def _of_debt(self, evict: Evict, before: Book) -> Iterator[str]:
        """A victim's leaf owes: on one key it is over at every level below where its path meets the asker's."""
        victim, asker = evict.workload, self._asker(evict)
        if asker is None or asker.group == victim.group or victim.admission is None:
            return
        tree = self.snapshot.world.tree
        met = next(name for name in tree.path(victim.group) if name in tree.path(asker.group))
        below = [name for name in tree.path(victim.group) if name not in tree.path(met)]
        book = before.copy()
        for each in self._new_promises():
            if each.work.group == victim.group:
                book.add(each.work, each.flavors)
        owed = [
            key
            for key in asked(victim, victim.admission.flavors)
            if all(book.charge(name, key) > book.numbers(name, key).runtime for name in below)
        ]
        if not owed:
            yield f"its leaf is not over its runtime on any key at all of {below}"
        since = [self.plan.over_since.get((victim.group, key)) for key in owed]
        grace = self.snapshot.leaves[victim.group].reclaim.grace_period
        if owed and grace and not any(start is not None and start + grace <= self.plan.now for start in since):
            yield f"its leaf is over since {since}, not for {grace}"

    def _asker(self, evict: Evict) -> Workload | None:
        asking = None if evict.claim is None else evict.claim.asker_id
        every = (work for leaf in self.snapshot.leaves.values() for work in leaf.pending)
        return next((work for work in every if work.asker_id == asking), None)

    def _new_promises(self) -> Iterator[Promise]:
        for evict in self.plan.evictions:
            if evict.claim is not None and (asker := self._asker(evict)) is not None:
                yield Promise(asker, evict.claim.flavors, evict.rule is EvictionRule.SWAP)

    def _of_asker(self, evict: Evict) -> Iterator[str]:
        assert evict.claim is not None
        asker = self._asker(evict)
        if asker is None or not self.snapshot.leaves[asker.group].may_start:
            yield "nobody asks"
            return
        leaf = self.snapshot.leaves[asker.group]
        if any(each.work.id == asker.id for each in self.started):
            yield "it starts in this cycle"
        if asker.key in self.claims:
            yield "it has a claim already"
        if dict(evict.claim.flavors) not in ways_to_run(self.snapshot, asker):
            yield "it cannot take these flavors"
        if evict.rule in ENTITLED and not self.is_entitled(leaf, asker, evict.claim.flavors):
            yield "it is not entitled"
        yield from self._of_held(leaf, asker, evict.claim.flavors)
        self.claims[asker.key] = Promise(asker, evict.claim.flavors, evict.rule is EvictionRule.SWAP)
        victims = [each for each in self.plan.evictions if each.claim and each.claim.asker_id == asker.asker_id]
        for each in victims:
            own = each.workload.group == asker.group
            if own and each.rule in FOR_AN_ASKER:
                lower = each.workload.priority < asker.priority and leaf.group.preemption.value == "LowerPriority"
                if not lower and each.rule is not EvictionRule.RECLAIM:
                    yield f"{each.workload.key} of its own group is not of lower priority"
            elif each.rule in (EvictionRule.SWAP, EvictionRule.PREEMPTION):
                yield f"{each.workload.key} is of another group"

    def _of_spare_victims(self, gone: Book, asking: Mapping[str, EvictionRule]) -> Iterator[str]:
        """Victims that could have gone on running: with them put back, every asker of this cycle still has its room."""
        for evict in self.plan.evictions:
            victim = evict.workload
            if evict.rule not in FOR_AN_ASKER or victim.admission is None:
                continue
            back = self.with_claims(gone).add(victim, victim.admission.flavors)
            lacks = [
                lack
                for promise in self.claims.values()
                for lack in back.lack(promise.work.group, asked(promise.work, promise.flavors))
            ]
            if not lacks and not self._swap_needs(evict, back):
                yield f"eviction of {victim.key} ({evict.rule}): all askers {list(asking)} have their room without it"

    def _swap_needs(self, evict: Evict, back: Book) -> bool:
        """Whether a swap needs the victim so that its leaf uses no more than before on the asker's keys."""
        if evict.rule is not EvictionRule.SWAP or evict.claim is None:
            return False
        leaf = evict.workload.group
        asker = self.claims.get(evict.claim.asker)
        keys = asked(asker.work, asker.flavors) if asker else {}
        return any(
            back.used(leaf, key) > self.with_claims(self.later_used).used(leaf, key) - amount
            for key, amount in keys.items()
        )

    def _of_limits(self, gone: Book) -> Iterator[str]:
        """Evictions for a ceiling or lost capacity: something was too much, and is again if the victim is put back."""
        for evict in self.plan.evictions:
            victim = evict.workload
            if evict.rule not in (EvictionRule.CEILING, EvictionRule.CAPACITY) or victim.admission is None:
                continue
            back = gone.copy().add(victim, victim.admission.flavors)
            path = self.snapshot.world.tree.path(victim.group)
            nodes = [ROOT] if evict.rule is EvictionRule.CAPACITY else [name for name in path if name != ROOT]
            if not any(
                back.used(name, key) > back.bound(name, key)
                for name in nodes
                for key in asked(victim, victim.admission.flavors)
            ):
                yield f"eviction of {victim.key} ({evict.rule}): no limit is broken with it put back"

    def _of_strict(self, gone: Book) -> Iterator[str]:
        """Strict recycling takes from leaves over their runtime only, and leaves none below one that it was over."""
        others = [evict.workload for evict in self.plan.evictions if evict.rule is not EvictionRule.STRICT]
        before, after = self.with_claims(self.later_used.without(*others)), self.with_claims(gone)
        for evict in self.plan.evictions:
            victim = evict.workload
            if evict.rule is not EvictionRule.STRICT or victim.admission is None:
                continue
            over = {
                key: runtime
                for key in before.snapshot.numbers[victim.group]
                if before.used(victim.group, key) > (runtime := before.numbers(victim.group, key).runtime)
            }
            if not over.keys() & asked(victim, victim.admission.flavors).keys():
                yield f"eviction of {victim.key} (Strict): its leaf is over its runtime only in {list(over)}"
            for key, runtime in over.items():
                if after.used(victim.group, key) < runtime:
                    yield f"eviction of {victim.key} (Strict): its leaf ends below its runtime of {key}"
