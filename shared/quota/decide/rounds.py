"""The rounds of one cycle: entitled workloads until none starts any more, then those that borrow.

docs/specification.md §6.1, §6.4.

A start changes what others may have: while a workload is pending it counts in every flavor that it could take, once
started only where it runs. So numbers are measured again after starts that can change them, and every step up to the
entitled pass is done again on them; of an earlier round only the starts are kept.

Borrowers are tried first: on numbers measured with them, an entitled workload might reclaim some at once. Those do not
start, and the pass is done again without them.

    a's job is entitled to t4, and could borrow in a100 (`whenCanBorrow: Borrow`); b waits for a100.
    With a's job in a100 nothing of a waits for a100 any more: b gets more of it and would reclaim the room.
    So a's job starts in t4 at once, and b's in a100, instead of one eviction later.
"""

from dataclasses import dataclass
from itertools import groupby
from typing import Final

from shared.quota.decide.admission import AdmissionPasses
from shared.quota.decide.decisions import EvictionRule
from shared.quota.decide.reclaim.claims import ClaimSteps
from shared.quota.decide.reclaim.drain import stop_and_give_up
from shared.quota.decide.reclaim.fill_back import fill_back
from shared.quota.decide.reclaim.over_limit import excesses, lower_excess
from shared.quota.decide.reclaim.over_runtime import find_over
from shared.quota.decide.reclaim.planner import ReclaimPlanner
from shared.quota.decide.reclaim.standing_claims import StandingClaims
from shared.quota.decide.reclaim.strict import recycle_strictly
from shared.quota.decide.reclaim.victim_search import EvictionDelays
from shared.quota.decide.remeasure import costs_less, is_worth_measuring, measure_again
from shared.quota.decide.state.cycle_cache import Sort
from shared.quota.decide.state.eviction_plan import EvictionPlan
from shared.quota.decide.state.pods_ready import AdmissionBlock
from shared.quota.decide.state.round_input import RoundInput
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.waits import Waits
from shared.quota.measure.identity import changed_names
from shared.quota.model.workload import Workload, WorkloadId

MOST_TRIALS: Final = 4
"""How often one cycle tries which borrowers would stay; then it starts those that can."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round reads, and the parts that its steps change, each given only to the steps that need it."""

    inputs: RoundInput
    usage: RoundUsage
    evictions: EvictionPlan
    claims: StandingClaims
    block: AdmissionBlock
    waits: Waits
    delays: EvictionDelays
    admission: AdmissionPasses

    @property
    def is_worth_measuring(self) -> bool:
        """Whether new numbers after the starts of this round might differ and matter."""
        return self.block.by is None and is_worth_measuring(self.inputs, self.usage.starts)


def start_all_entitled(inputs: RoundInput) -> Round:
    """Run rounds until no entitled workload starts whose start could change numbers of others."""
    latest = _start_entitled(inputs)
    while latest.is_worth_measuring:
        latest = _start_entitled(measure_again(latest.inputs, latest.usage.starts))
    return latest


def start_borrowers(latest: Round) -> Round:
    """Start what borrows, and after each pass what is entitled because of that."""
    trial: RoundInput | None = None
    for _ in range(MOST_TRIALS):
        borrowers = _borrow(latest)
        if latest.evictions.preemptors or latest.evictions.delayed:
            # Their plans stand: on numbers with a borrower of their own leaf they might not be entitled any more.
            return latest
        if not borrowers or not latest.is_worth_measuring:
            return latest if borrowers else _with_anybody(latest)
        trial = measure_again(latest.inputs, latest.usage.starts, borrowers, trial)
        reclaimed = _reclaimed(trial)
        if reclaimed:
            latest = _start_entitled(latest.inputs.without_borrowing(reclaimed))
            continue
        before, latest, trial = latest, start_all_entitled(trial.carried_out()), None
        if not _may_borrow_more(before, latest):
            _recycle(latest)
            return latest
    _borrow(latest)
    return latest


def _may_borrow_more(before: Round, after: Round) -> bool:
    """Return whether a borrowing pass of `after` could start anything, when that of `before` has started what it could.

    Room only shrinks by starts. It grows where claims end, where room was kept for a workload that has borrowed since,
    and where groups cost their parents less; and in Strict mode a leaf may be below its runtime now.
    """
    now, known = after.inputs.snapshot.numbers, before.inputs.snapshot.numbers
    changed = changed_names(now, known)
    return (
        before.admission.kept_room_while_borrowing
        or len(after.claims.ended) != len(before.claims.ended)
        or not after.inputs.cache.of(Sort.STRICT).isdisjoint(changed)
        or any(costs_less(now[name], known[name]) for name in changed)
    )


def _with_anybody(latest: Round) -> Round:
    """Return the same round; if it started none, also with the deferred workloads, so that no room stays idle."""
    taken_over = latest.inputs.taken_over
    if taken_over.starts or latest.usage.starts or not taken_over.may_not_borrow:
        return latest
    latest = _start_entitled(RoundInput(latest.inputs.snapshot, latest.inputs.cache))
    _borrow(latest)
    return latest


def _borrow(latest: Round) -> frozenset[WorkloadId]:
    """Let Strict mode recycle, then make one borrowing pass; return the workloads that the pass started."""
    count = len(latest.usage.starts)
    _recycle(latest)
    latest.admission.start_borrowing()
    return frozenset(each.workload.id for each in latest.usage.starts[count:])


def _recycle(latest: Round) -> None:
    """Let Strict mode recycle.

    Victims are filled back before, so that it does not recycle in place of one that is not needed; and after it,
    because what it recycles can spare others.
    """
    usage, evictions = latest.usage, latest.evictions
    fill_back(usage, evictions)
    if recycle_strictly(latest.inputs, usage, evictions, latest.waits, latest.delays):
        fill_back(usage, evictions)


def _start_entitled(inputs: RoundInput) -> Round:
    """Return all steps of a round up to the entitled pass."""
    cache = inputs.cache
    cache.refresh(inputs.snapshot)
    usage = RoundUsage(inputs.snapshot, cache.of(Sort.EVICTING), inputs.taken_over, cache.leaves)
    evictions, claims, block, waits = EvictionPlan(), StandingClaims(), AdmissionBlock(), Waits(inputs.now)
    stop_and_give_up(usage, evictions, block, waits, cache.of(Sort.URGENT))
    claim_steps = ClaimSteps(usage, claims, waits, block)
    claim_steps.resolve()
    claim_steps.serve()
    over = sorted(
        excesses(usage, cache.beyond(inputs.snapshot.world.tree)),
        key=lambda excess: excess.rule is EvictionRule.CAPACITY,
    )
    is_trial = bool(inputs.taken_over.trial)  # which no delay keeps from evicting: since when does not matter
    delays = EvictionDelays({} if is_trial else find_over(usage, cache, claims, over), ignored=is_trial)
    for _, of_group in groupby(over, key=lambda excess: (excess.group, excess.rule)):
        lower_excess(usage, evictions, waits, delays, tuple(of_group))
    planner = ReclaimPlanner(usage, evictions, claim_steps, waits, delays)
    admission = AdmissionPasses(inputs, claims, block, usage, evictions, waits, planner)
    admission.start_entitled()
    return Round(inputs, usage, evictions, claims, block, waits, delays, admission)


def _reclaimed(trial: RoundInput) -> list[Workload]:
    """Return those borrowers that entitled workloads would reclaim on numbers measured with all of them."""
    victims = _start_entitled(trial).evictions.victims
    return [victim.workload for victim in victims if victim.workload.id in trial.taken_over.trial]
