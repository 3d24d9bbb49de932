"""Measure again within a cycle: what its entitled starts change for others. docs/specification.md §6.4.

A pending workload counts in every flavor that it could take, a started one only where it runs. So after a start the
runtimes of others may be larger in the flavors that it did not take, and who was not entitled may be entitled now.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from shared.quota.decide.decisions import Start
from shared.quota.decide.state.cycle_cache import Sort
from shared.quota.decide.state.round_input import RoundInput
from shared.quota.measure.group_usage import NO_NUMBERS, GroupNumbers
from shared.quota.measure.inputs.workload_set import WorkloadChange
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.workload import Admission, Workload, WorkloadId


def is_worth_measuring(inputs: RoundInput, starts: Collection[Start]) -> bool:
    """Return whether these starts can change a runtime while workloads are still pending."""
    if not any(_moves_demand(inputs, start) for start in starts):
        return False
    left = -len(starts)
    for name in inputs.cache.of(Sort.WAITING):
        left += len(inputs.snapshot.leaves[name].pending)
        if left > 0:
            return True
    return False


def _moves_demand(inputs: RoundInput, start: Start) -> bool:
    """Whether this workload counts otherwise once it is started: in fewer flavors, or as use that is not preemptible.

    Work with a claim counted only in the flavors of the claim already.
    """
    if not start.workload.preemptible:
        return True
    assignments = inputs.assignments(start.workload.group, start.workload)
    return not start.on_claim and assignments is not None and len(assignments) > 1


def measure_again(
    inputs: RoundInput,
    starts: Collection[Start],
    trial: Collection[WorkloadId] = (),
    previous: RoundInput | None = None,
) -> RoundInput:
    """Return the input of a next round of the same cycle, on numbers measured with these starts.

    `trial`: starts that may be taken back, to find out who would reclaim them. `previous`: an earlier trial of other
    starts from the same `inputs`, of which most are alike; the result is the same, and costs what differs.
    """
    before = inputs.taken_over
    all_starts = (*before.starts, *starts)
    taken_over = replace(
        before, starts=all_starts, measured_after=(*before.measured_after, len(all_starts)), trial=frozenset(trial)
    )
    if previous is None:
        return RoundInput(measure_started(inputs.snapshot, starts), inputs.cache, taken_over)
    changes = _differences(inputs.snapshot, previous.taken_over.starts[len(before.starts) :], starts)
    known = previous.snapshot
    return RoundInput(measure(known.world.with_changes(changes), known.now, known), inputs.cache, taken_over)


def measure_started(snapshot: Snapshot, starts: Iterable[Start]) -> Snapshot:
    """Measure the same moment with these starts carried out; it costs what they change."""
    changes = ((each.workload, _started(each, snapshot)) for each in starts)
    return measure(snapshot.world.with_changes(changes), snapshot.now, snapshot)


def costs_less(now: GroupNumbers, before: GroupNumbers) -> bool:
    """Return whether a group costs its parent less while idle: its runtime fell below what its guarantee kept."""
    return any(each.idle_charge < before.get(key, NO_NUMBERS).idle_charge for key, each in now.items())


def _differences(snapshot: Snapshot, before: Iterable[Start], now: Iterable[Start]) -> Iterator[WorkloadChange]:
    """Yield what leads from the one starts to the others, carried out on the same snapshot."""
    left = {each.workload.id: each for each in before}
    for each in now:
        other = left.pop(each.workload.id, None)
        if other is None or other.flavors != each.flavors:
            yield each.workload, _started(each, snapshot)
    for each in left.values():
        yield each.workload, each.workload


def _started(start: Start, snapshot: Snapshot) -> Workload:
    admission = Admission(start.flavors, snapshot.now, answered=False)
    return replace(start.workload, admission=admission, eviction=None, notice=None, not_before=None)
