"""Room for an entitled asker: victims out, asker in, all or nothing. DESIGN section 7, OnDemand and preemption.

A plan is made on the ledger `after`: its victims are gone there and its asker is promised its room before anything is
decided for good; a plan that is not complete leaves no trace.
"""

from enum import Enum

from shared.quota.decide.account import LeafAccount
from shared.quota.decide.claims import end_claim, reinstate, withdraw
from shared.quota.decide.cycle import Asker, Cycle, Victim
from shared.quota.decide.decisions import WaitReason
from shared.quota.decide.flavors import Attempt
from shared.quota.decide.room import Ask
from shared.quota.decide.victims import Search
from shared.quota.measure.snapshot import HeldClaim
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource


class Outcome(Enum):
    """What became of an asker's wish for room."""

    PLANNED = "planned"
    """Its victims go now, or the evictions under way already make its room."""
    KEPT = "kept"
    """Its room is only delayed."""
    NONE = "none"


def plan_reclaim(cycle: Cycle, account: LeafAccount, workload: Workload, attempt: Attempt) -> Outcome:
    """Make room for an entitled asker in these flavors if any complete plan can."""
    asker = Asker(workload, account, attempt.flavors, attempt.ask)
    now = Search(cycle, delayed=False)
    if _make_room(now, asker):
        _commit(cycle, asker)
        return Outcome.PLANNED
    if now.spared_until and _make_room(Search(cycle, delayed=True), asker):
        for moment in now.spared_until:
            cycle.wake(moment)
        keep(cycle, asker)
        return Outcome.KEPT
    return Outcome.PLANNED if _without_swaps(cycle, asker) else Outcome.NONE


def keep(cycle: Cycle, asker: Asker) -> None:
    """Turn a plan that cannot be carried out yet into room kept: nobody goes, and the asker is in."""
    undo(cycle, asker)
    cycle.keep(asker)
    cycle.notes[asker.workload.id] = WaitReason.ROOM_DELAYED


def undo(cycle: Cycle, asker: Asker) -> None:
    """Take a plan out of the books."""
    for victim in asker.victims:
        cycle.restore(victim)
    asker.victims.clear()
    cycle.forget(asker.account, asker.ask, asker.workload)


def _commit(cycle: Cycle, asker: Asker) -> None:
    cycle.victims.extend(asker.victims)
    cycle.askers.append(asker)
    cycle.notes[asker.workload.id] = WaitReason.WAITING_FOR_EVICTIONS


def _make_room(search: Search, asker: Asker) -> bool:
    """Promise the asker its room and vacate victims until it fits; undo all when no victim is left to ask for."""
    cycle = search.cycle
    cycle.promise(asker.account, asker.ask, asker.workload)
    while (key := _short_of(cycle, asker.account, asker.ask)) is not None:
        victim = _next_victim(search, asker, key)
        if victim is None:
            undo(cycle, asker)
            return False
        victim.asker = asker
        asker.victims.append(victim)
        cycle.vacate(victim)
    return True


def _short_of(cycle: Cycle, account: LeafAccount, ask: Ask) -> FlavorResource | None:
    """The first key on which a limit of the path is passed after the evictions under way."""
    return next((key for key, _ in ask if cycle.after.free(account.path, key) < 0), None)


def _next_victim(search: Search, asker: Asker, key: FlavorResource) -> Victim | None:
    path = asker.account.path
    below: str | None = None
    for group in path:
        if search.cycle.after.over_runtime(group, key) > 0:
            if below is None:
                return search.below_priority(asker.account, asker.workload.priority, key)
            return search.in_branches(group, below, key)
        below = group
    return None


def _without_swaps(cycle: Cycle, asker: Asker) -> bool:
    """Plan again without the swap claims of other leaves that are over their runtime; keep them if that is no help."""
    withdrawn: list[HeldClaim] = []
    for asker_id, claim in list(cycle.claims.items()):
        if _may_be_withdrawn(cycle, asker, claim):
            withdrawn.append(withdraw(cycle, asker_id))
            if _make_room(Search(cycle, delayed=False), asker):
                _commit(cycle, asker)
                for each in withdrawn:
                    end_claim(cycle, each, "Withdrawn")
                return True
    for claim in reversed(withdrawn):
        reinstate(cycle, claim)
    return False


def _may_be_withdrawn(cycle: Cycle, asker: Asker, claim: HeldClaim) -> bool:
    if not claim.swap or claim.asker is None or claim.asker.group == asker.account.name:
        return False
    return any(cycle.after.over_runtime(claim.asker.group, key) > 0 for key, _ in asker.ask)
