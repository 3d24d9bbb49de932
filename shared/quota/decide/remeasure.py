"""Measure again within a cycle: what its entitled starts change for others. docs/specification.md §6.4.

A pending workload counts in every flavor that it could take, a started one only where it runs. So after a start the
runtimes of others may be larger in the flavors that it did not take, and who was not entitled may be entitled now.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from shared.quota.decide.decisions import Start
from shared.quota.decide.state.cycle_state import CycleState
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.workload import Admission, Workload, WorkloadId


def is_worth_measuring(cycle: CycleState) -> bool:
    """Whether the starts since the last measuring can change anybody's runtime, and somebody is left who waits."""
    if cycle.blocked_by is not None or not any(_moves_demand(cycle, start) for start in cycle.starts):
        return False
    waiting = sum(len(cycle.snapshot.leaves[name].pending) for name in cycle.cache.waiting)
    return waiting > len(cycle.starts)


def _moves_demand(cycle: CycleState, start: Start) -> bool:
    """Whether this workload counts otherwise once it is started: in fewer flavors, or as use that is not preemptible.

    Work with a claim counted only in the flavors of the claim already.
    """
    if not start.workload.preemptible:
        return True
    assignments = cycle.assignments(cycle.leaf_usage(start.workload.group), start.workload)
    return not start.on_claim and assignments is not None and len(assignments) > 1


def measure_again(cycle: CycleState, trial: Collection[WorkloadId] = ()) -> CycleState:
    """The same cycle from its beginning, on numbers measured with its starts; of what it decided only they are kept.

    `trial`: starts that may be taken back, to find out who would reclaim them.
    """
    before = cycle.taken_over
    starts = (*before.starts, *cycle.starts)
    taken_over = replace(
        before, starts=starts, measured_after=(*before.measured_after, len(starts)), trial=frozenset(trial)
    )
    return CycleState(measure_started(cycle.snapshot, cycle.starts), cycle.cache, taken_over)


def measure_started(snapshot: Snapshot, starts: Iterable[Start]) -> Snapshot:
    """The numbers of the same moment with these starts carried out; costs what they change."""
    changes = ((each.workload, _started(each, snapshot)) for each in starts)
    return measure(snapshot.world.with_changes(changes), snapshot.now, snapshot)


def _started(start: Start, snapshot: Snapshot) -> Workload:
    admission = Admission(start.flavors, snapshot.now, answered=False)
    return replace(start.workload, admission=admission, eviction=None, notice=None, not_before=None)
