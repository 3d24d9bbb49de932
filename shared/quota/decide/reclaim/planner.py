"""Room for an entitled preemptor: victims out, preemptor in, all or nothing. docs/specification.md §7.2 and §7.6.

A plan is made on the usage `after`: its victims are gone there and its preemptor has its room before anything is
decided finally; a plan that is not complete leaves no trace.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from shared.quota.decide.decisions import EvictionRule, WaitReason
from shared.quota.decide.reclaim.claims import ClaimSteps
from shared.quota.decide.reclaim.victim_search import EvictionDelays, VictimSearch
from shared.quota.decide.recycling_order import RunningWorkload
from shared.quota.decide.state.eviction_plan import EvictionPlan, Preemptor, Victim
from shared.quota.decide.state.flavor_assignment import Candidate
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import Quantities
from shared.quota.decide.waits import Waits
from shared.quota.measure.snapshot import OpenClaim
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource


class ReclaimOutcome(Enum):
    """What became of a preemptor's request for room."""

    PLANNED = "planned"
    """The victims go now, or the evictions under way already make the room."""
    KEPT = "kept"
    """A delay alone keeps the victims for now."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ReclaimPlanner:
    """Makes room for one preemptor after another: changes the usage, the eviction plan, and claims of swaps."""

    usage: RoundUsage
    evictions: EvictionPlan
    claim_steps: ClaimSteps
    waits: Waits
    delays: EvictionDelays

    def plan(
        self, leaf_usage: LeafUsage, workload: Workload, candidate: Candidate, others: Sequence[Candidate] = ()
    ) -> ReclaimOutcome:
        """Make room for an entitled preemptor in these flavors if any complete plan can.

        If workloads of its own group would go, it takes the first of `others` in which only what other groups have
        borrowed goes, and now: else those of its own group would have to reclaim that for themselves next.
        """
        preemptor = _preemptor(leaf_usage, workload, candidate)
        now = VictimSearch(self.usage, self.delays)
        is_planned = _make_room(now, preemptor)
        is_delayed = not is_planned and now.spares
        if is_delayed:
            is_delayed = _make_room(VictimSearch(self.usage, self.delays, delayed=True), preemptor)
        if others and any(victim.rule is EvictionRule.PREEMPTION for victim in preemptor.victims):
            victims = undo(self.usage, preemptor)
            if self._spares_own_group(leaf_usage, workload, others):
                return ReclaimOutcome.PLANNED
            _redo(self.usage, preemptor, victims)
        if is_planned:
            self._commit(preemptor)
            return ReclaimOutcome.PLANNED
        if is_delayed:
            self.waits.wake(*now.spared_until)
            if now.spares_for_turns:
                undo(self.usage, preemptor)
                return ReclaimOutcome.NONE
            keep(self.usage, self.evictions, self.waits, preemptor)
            return ReclaimOutcome.KEPT
        return ReclaimOutcome.PLANNED if self._without_swaps(preemptor) else ReclaimOutcome.NONE

    def keep_beside_turns(self, leaf_usage: LeafUsage, workload: Workload, candidate: Candidate) -> bool:
        """Keep room that siblings of a turn would have to give up; return whether it would suffice.

        They are not evicted, so how long that takes is not known: for what no other plan serves, and starts nowhere.
        """
        preemptor = _preemptor(leaf_usage, workload, candidate)
        if not _make_room(VictimSearch(self.usage, self.delays, delayed=True), preemptor):
            return False
        keep(self.usage, self.evictions, self.waits, preemptor)
        return True

    def _spares_own_group(self, leaf_usage: LeafUsage, workload: Workload, others: Iterable[Candidate]) -> bool:
        """Commit the first plan in which no workload of the preemptor's own group goes; return whether there is one."""
        for candidate in others:
            preemptor = _preemptor(leaf_usage, workload, candidate)
            if _make_room(VictimSearch(self.usage, self.delays), preemptor, spares_own=True):
                self._commit(preemptor)
                return True
        return False

    def _commit(self, preemptor: Preemptor) -> None:
        self.evictions.commit(preemptor)
        self.waits.reasons[preemptor.workload.id] = WaitReason.WAITING_FOR_EVICTIONS

    def _without_swaps(self, preemptor: Preemptor) -> bool:
        """Plan again without the swap claims of other leaves that are over their runtime; keep them if no help."""
        withdrawn: list[OpenClaim] = []
        claims = self.claim_steps.claims
        for preemptor_id, claim in list(claims.open.items()):
            if self._may_be_withdrawn(preemptor, claim):
                withdrawn.append(self.claim_steps.withdraw(preemptor_id))
                if _make_room(VictimSearch(self.usage, self.delays), preemptor):
                    self._commit(preemptor)
                    for each in withdrawn:
                        claims.end(each, "Withdrawn")
                    return True
        for claim in reversed(withdrawn):
            self.claim_steps.reinstate(claim)
        return False

    def _may_be_withdrawn(self, preemptor: Preemptor, claim: OpenClaim) -> bool:
        if not claim.swap or claim.preemptor is None or claim.preemptor.group == preemptor.leaf_usage.name:
            return False
        return any(self.usage.planned.over_runtime(claim.preemptor.group, key) > 0 for key, _ in preemptor.quantities)


def keep(usage: RoundUsage, evictions: EvictionPlan, waits: Waits, preemptor: Preemptor) -> None:
    """Reserve the room of a plan that cannot be executed yet: no victim is evicted, and the preemptor is counted."""
    undo(usage, preemptor)
    evictions.delay(usage, preemptor)
    waits.reasons[preemptor.workload.id] = WaitReason.ROOM_DELAYED


def undo(usage: RoundUsage, preemptor: Preemptor) -> Sequence[Victim]:
    """Take a plan out of the usage; return the victims that it had."""
    victims = tuple(preemptor.victims)
    for leaf_usage, running in _by_leaf(victims).items():
        usage.restore(leaf_usage, *running)
    preemptor.victims.clear()
    usage.release(preemptor.leaf_usage, preemptor.quantities, preemptor.workload)
    return victims


def _redo(usage: RoundUsage, preemptor: Preemptor, victims: Sequence[Victim]) -> None:
    """Undo `undo`."""
    usage.reserve(preemptor.leaf_usage, preemptor.quantities, preemptor.workload)
    for leaf_usage, running in _by_leaf(victims).items():
        usage.evict(leaf_usage, *running)
    preemptor.victims.extend(victims)


def _by_leaf(victims: Iterable[Victim]) -> dict[LeafUsage, list[RunningWorkload]]:
    found: dict[LeafUsage, list[RunningWorkload]] = {}
    for victim in victims:
        found.setdefault(victim.leaf_usage, []).append(victim.running)
    return found


def _preemptor(leaf_usage: LeafUsage, workload: Workload, candidate: Candidate) -> Preemptor:
    return Preemptor(workload, leaf_usage, candidate.flavors, candidate.quantities)


def _make_room(search: VictimSearch, preemptor: Preemptor, *, spares_own: bool = False) -> bool:
    """Reserve the preemptor's room and evict victims until it fits; undo all when no victim is left."""
    usage = search.usage
    usage.reserve(preemptor.leaf_usage, preemptor.quantities, preemptor.workload)
    while (short := _short_of(usage, preemptor.leaf_usage, preemptor.quantities)) is not None:
        victims = _next_victims(search, preemptor, *short)
        if not victims or (spares_own and victims[0].rule is EvictionRule.PREEMPTION):
            undo(usage, preemptor)
            return False
        for victim in victims:
            victim.preemptor = preemptor
        preemptor.victims.extend(victims)
        usage.evict(victims[0].leaf_usage, *[each.running for each in victims])
    return True


def _short_of(usage: RoundUsage, leaf_usage: LeafUsage, quantities: Quantities) -> tuple[FlavorResource, Amount] | None:
    """Return the first key on which a limit of the path is passed after the evictions under way, and by how much."""
    for key, _ in quantities:
        exceeded = usage.planned.most_exceeded(leaf_usage.path, key)
        if exceeded > 0:
            return key, exceeded
    return None


def _next_victims(search: VictimSearch, preemptor: Preemptor, key: FlavorResource, lacking: Amount) -> Sequence[Victim]:
    """Return victims of one leaf: as many as would be found one by one while `lacking` is not made up for."""
    planned = search.usage.planned.charges[key]
    below: str | None = None
    is_for_min = False
    for group in preemptor.leaf_usage.path:
        excess = search.excess(group, key)
        if excess > 0:
            amount = min(lacking, excess)
            if below is None:
                return search.below_priority(preemptor.leaf_usage, preemptor.workload.priority, key, amount)
            return search.in_branches(group, below, key, amount, for_min=is_for_min)
        is_for_min = is_for_min or planned.charge(group) <= planned.numbers[group].min
        below = group
    return ()
