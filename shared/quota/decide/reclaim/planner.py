"""Room for an entitled preemptor: victims out, preemptor in, all or nothing. docs/specification.md §7.2 and §7.6.

A plan is made on the usage `after`: its victims are gone there and its preemptor has its room before anything is
decided finally; a plan that is not complete leaves no trace.
"""

from enum import Enum

from shared.quota.decide.decisions import WaitReason
from shared.quota.decide.reclaim.claims import end_claim, reinstate, withdraw
from shared.quota.decide.reclaim.victim_search import VictimSearch
from shared.quota.decide.state.cycle_state import CycleState, Preemptor, Victim
from shared.quota.decide.state.flavor_assignment import Candidate
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.usage import Quantities
from shared.quota.measure.snapshot import OpenClaim
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource


class ReclaimOutcome(Enum):
    """What became of a preemptor's request for room."""

    PLANNED = "planned"
    """Its victims go now, or the evictions under way already make its room."""
    KEPT = "kept"
    """Its room is only delayed."""
    NONE = "none"


def plan_reclaim(cycle: CycleState, leaf_usage: LeafUsage, workload: Workload, candidate: Candidate) -> ReclaimOutcome:
    """Make room for an entitled preemptor in these flavors if any complete plan can."""
    preemptor = Preemptor(workload, leaf_usage, candidate.flavors, candidate.quantities)
    now = VictimSearch(cycle, delayed=False)
    if _make_room(now, preemptor):
        _commit(cycle, preemptor)
        return ReclaimOutcome.PLANNED
    if now.spared_until and _make_room(VictimSearch(cycle, delayed=True), preemptor):
        for moment in now.spared_until:
            cycle.wake(moment)
        keep(cycle, preemptor)
        return ReclaimOutcome.KEPT
    return ReclaimOutcome.PLANNED if _without_swaps(cycle, preemptor) else ReclaimOutcome.NONE


def keep(cycle: CycleState, preemptor: Preemptor) -> None:
    """Turn a plan that cannot be carried out yet into room kept: nobody goes, and the preemptor is in."""
    undo(cycle, preemptor)
    cycle.delay(preemptor)
    cycle.wait_reasons[preemptor.workload.id] = WaitReason.ROOM_DELAYED


def undo(cycle: CycleState, preemptor: Preemptor) -> None:
    """Take a plan out of the usage."""
    for victim in preemptor.victims:
        cycle.restore(victim)
    preemptor.victims.clear()
    cycle.release(preemptor.leaf_usage, preemptor.quantities, preemptor.workload)


def _commit(cycle: CycleState, preemptor: Preemptor) -> None:
    cycle.victims.extend(preemptor.victims)
    cycle.preemptors.append(preemptor)
    cycle.wait_reasons[preemptor.workload.id] = WaitReason.WAITING_FOR_EVICTIONS


def _make_room(search: VictimSearch, preemptor: Preemptor) -> bool:
    """Reserve the preemptor's room and vacate victims until it fits; undo all when no victim is left."""
    cycle = search.cycle
    cycle.reserve(preemptor.leaf_usage, preemptor.quantities, preemptor.workload)
    while (key := _short_of(cycle, preemptor.leaf_usage, preemptor.quantities)) is not None:
        victim = _next_victim(search, preemptor, key)
        if victim is None:
            undo(cycle, preemptor)
            return False
        victim.preemptor = preemptor
        preemptor.victims.append(victim)
        cycle.vacate(victim)
    return True


def _short_of(cycle: CycleState, leaf_usage: LeafUsage, quantities: Quantities) -> FlavorResource | None:
    """The first key on which a limit of the path is passed after the evictions under way."""
    return next((key for key, _ in quantities if cycle.planned.available(leaf_usage.path, key) < 0), None)


def _next_victim(search: VictimSearch, preemptor: Preemptor, key: FlavorResource) -> Victim | None:
    path = preemptor.leaf_usage.path
    below: str | None = None
    for group in path:
        if search.cycle.planned.over_runtime(group, key) > 0:
            if below is None:
                return search.below_priority(preemptor.leaf_usage, preemptor.workload.priority, key)
            return search.in_branches(group, below, key)
        below = group
    return None


def _without_swaps(cycle: CycleState, preemptor: Preemptor) -> bool:
    """Plan again without the swap claims of other leaves that are over their runtime; keep them if that is no help."""
    withdrawn: list[OpenClaim] = []
    for preemptor_id, claim in list(cycle.claims.items()):
        if _may_be_withdrawn(cycle, preemptor, claim):
            withdrawn.append(withdraw(cycle, preemptor_id))
            if _make_room(VictimSearch(cycle, delayed=False), preemptor):
                _commit(cycle, preemptor)
                for each in withdrawn:
                    end_claim(cycle, each, "Withdrawn")
                return True
    for claim in reversed(withdrawn):
        reinstate(cycle, claim)
    return False


def _may_be_withdrawn(cycle: CycleState, preemptor: Preemptor, claim: OpenClaim) -> bool:
    if not claim.swap or claim.preemptor is None or claim.preemptor.group == preemptor.leaf_usage.name:
        return False
    return any(cycle.planned.over_runtime(claim.preemptor.group, key) > 0 for key, _ in preemptor.quantities)
