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

from itertools import groupby
from typing import Final

from shared.quota.decide.admission import AdmissionPasses
from shared.quota.decide.reclaim.claims import resolve_claims, serve_claims
from shared.quota.decide.reclaim.drain import stop_and_give_up
from shared.quota.decide.reclaim.fill_back import fill_back
from shared.quota.decide.reclaim.over_limit import cure, excesses
from shared.quota.decide.reclaim.over_runtime import judge_over
from shared.quota.decide.remeasure import is_worth_measuring, measure_again
from shared.quota.decide.state.cycle_state import CycleState
from shared.quota.model.workload import WorkloadId

MOST_TRIALS: Final = 4
"""How often one cycle tries which borrowers would stay; then it starts those that may."""

Round = tuple[CycleState, AdmissionPasses]


def start_all_entitled(cycle: CycleState) -> Round:
    """Rounds until no entitled workload starts that could change what others may have."""
    admission = _start_entitled(cycle)
    while is_worth_measuring(cycle):
        cycle = measure_again(cycle)
        admission = _start_entitled(cycle)
    return cycle, admission


def start_borrowers(cycle: CycleState, admission: AdmissionPasses) -> CycleState:
    """Start what borrows, in turns with what is entitled because of that."""
    for _ in range(MOST_TRIALS):
        borrowers = _borrow(cycle, admission)
        if cycle.preemptors or cycle.delayed:
            # Their plans stand: on numbers with a borrower of their own leaf they might not be entitled any more.
            return cycle
        if not borrowers or not is_worth_measuring(cycle):
            return cycle if borrowers else _with_anybody(cycle)
        reclaimed = _reclaimed(cycle, borrowers)
        if reclaimed:
            cycle = cycle.without_borrowing(reclaimed)
            admission = _start_entitled(cycle)
        else:
            cycle, admission = start_all_entitled(measure_again(cycle))
    _borrow(cycle, admission)
    return cycle


def _with_anybody(cycle: CycleState) -> CycleState:
    """The same cycle; but if it started nobody, with those who were held back: room is not left idle at rest."""
    if cycle.taken_over.starts or cycle.starts or not cycle.taken_over.may_not_borrow:
        return cycle
    cycle = CycleState(cycle.snapshot, cycle.cache)
    _borrow(cycle, _start_entitled(cycle))
    return cycle


def _borrow(cycle: CycleState, admission: AdmissionPasses) -> frozenset[WorkloadId]:
    """One borrowing pass; the workloads that it started."""
    count = len(cycle.starts)
    fill_back(cycle)
    admission.start_borrowing()
    return frozenset(each.workload.id for each in cycle.starts[count:])


def _start_entitled(cycle: CycleState) -> AdmissionPasses:
    """All steps of a cycle up to the entitled pass."""
    stop_and_give_up(cycle)
    resolve_claims(cycle)
    serve_claims(cycle)
    over = list(excesses(cycle))
    judge_over(cycle, over)
    for group, of_group in groupby(over, key=lambda excess: excess.group):
        cure(cycle, group, tuple(of_group))
    admission = AdmissionPasses(cycle)
    admission.start_entitled()
    return admission


def _reclaimed(cycle: CycleState, borrowers: frozenset[WorkloadId]) -> frozenset[WorkloadId]:
    """Those borrowers that entitled workloads would reclaim on numbers measured with all of them."""
    trial = measure_again(cycle, trial=borrowers)
    _start_entitled(trial)
    return borrowers.intersection(victim.workload.id for victim in trial.victims)
