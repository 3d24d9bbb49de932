"""Explain a running workload: on which ground it runs, how much of it its group borrows, and how it could be lost.

See docs/specification.md §7 and §14.1.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from shared.api.durations import later
from shared.quota.decide.decisions import EvictionRule
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import quantities_of
from shared.quota.model.lifecycle import is_drained, run_end, startup_of, stops_at
from shared.quota.model.workload import Admission, Workload
from shared.quota.outlook.explain.holders import Holder, Waiting, holder_in
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True)
class HeldKey:
    """One key that the workload uses: how much, what of that is above the group's min, and the group's numbers."""

    key: FlavorResource
    amount: Amount
    borrowed: Amount
    group_used: Amount
    group_runtime: Amount

    @property
    def within_runtime(self) -> bool:
        """Whether the runtime of the group covers all that the group uses."""
        return self.group_used <= self.group_runtime


@dataclass(frozen=True, slots=True)
class Loss:
    """A rule by which the workload could be evicted: whether it could be now; else why not, and from when it could."""

    rule: EvictionRule
    because: str = ""
    after: datetime | None = None

    @property
    def possible(self) -> bool:
        """Whether nothing but the need of another workload is missing."""
        return not self.because


@dataclass(frozen=True, slots=True)
class RunningExplanation:
    """Since when and in which flavors a workload runs, and what its place rests on."""

    admission: Admission
    keys: tuple[HeldKey, ...]
    losses: tuple[Loss, ...]

    @property
    def within_runtime(self) -> bool:
        """Whether the runtime of its group covers it; otherwise it can be reclaimed for entitled workloads."""
        return all(each.within_runtime for each in self.keys)


def explain_running(usage: RoundUsage, workload: Workload, admission: Admission) -> RunningExplanation:
    """Explain the place of an admitted workload; nothing is known of one whose group holds no workloads.

    `usage`: that of the cycle's beginning, claims included.
    """
    if workload.group not in usage.snapshot.leaves:
        return RunningExplanation(admission, (), ())
    leaf = usage.leaf(workload.group)
    outside = Waiting(replace(workload, group=""), entitled=True)
    used = sorted(key for key, _ in quantities_of(workload, admission.flavors))
    held = {key: holder_in(usage, workload, key, outside) for key in used}
    keys = tuple(_held(leaf, key, each) for key, each in held.items() if each is not None)
    losses = () if workload.is_evicting else tuple(_losses(usage, workload, admission, held))
    return RunningExplanation(admission, keys, losses)


def _held(leaf: LeafUsage, key: FlavorResource, holder: Holder) -> HeldKey:
    numbers = leaf.numbers(key)
    return HeldKey(key, holder.amount, holder.borrowed, numbers.used, numbers.runtime)


def _losses(
    usage: RoundUsage, workload: Workload, admission: Admission, held: dict[FlavorResource, Holder | None]
) -> Iterator[Loss]:
    leaf = usage.leaf(workload.group)
    above = replace(workload, priority=workload.priority + 1, admission=None)
    inside = [holder_in(usage, workload, key, Waiting(above, entitled=True)) for key in held]
    for rule, holders in ((EvictionRule.RECLAIM, held.values()), (EvictionRule.PREEMPTION, inside)):
        found = [each for each in holders if each is not None]
        if found:
            first = min(found, key=lambda each: (not each.recyclable, each.until is None))
            yield Loss(rule, first.because, first.until)
    startup = startup_of(workload, leaf.leaf.startup)
    if startup.wait_for_pods_ready and not admission.ready and not admission.was_ready:
        yield Loss(EvictionRule.STARTUP_TIMEOUT, "NotReadyYet", later(admission.since, startup.timeout))
    end = run_end(workload, leaf.leaf.run_time, leaf.leaf.reclaim.notice)
    if end is not None:
        at = stops_at(workload, end, usage.now) if end.notice <= usage.now else end.at
        yield Loss(EvictionRule.RUN_TIME, "RunTimeLeft" if at > usage.now else "", at)
    if is_drained(leaf.leaf.stop, preemptible=workload.preemptible):
        yield Loss(EvictionRule.STOP_POLICY)
