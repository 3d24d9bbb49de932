"""What an edit would change: the end of a world with it, compared with the end of the same world without it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from shared.quota.decide.decisions import Evict, WaitExplanation
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.workload import Workload, WorkloadId
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.simulate.end_orders import ORDERS
from shared.quota.outlook.simulate.run import SimulationRun, run
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True)
class Stopped:
    """A running workload that the edit would stop."""

    evict: Evict
    restarts: bool
    """Whether it runs again at the end."""


@dataclass(frozen=True, slots=True)
class ChangedReason:
    """A workload that waits with and without the edit, for another reason; None: not among the workloads."""

    before: WaitExplanation
    after: WaitExplanation


@dataclass(frozen=True, slots=True)
class ChangedRuntime:
    """A group's runtime without and with the edit; 0 for a group that is not there."""

    group: str
    key: FlavorResource
    before: Amount
    after: Amount


@dataclass(frozen=True, slots=True)
class Prediction:
    """Everything that an edit would change."""

    starts: tuple[Workload, ...]
    """Would run at the end, and would not without the edit."""
    stops: tuple[Stopped, ...]
    """Would be evicted, and would not without the edit."""
    waits: tuple[WaitExplanation, ...]
    """Would wait at the end, and would have started without the edit."""
    runtimes: tuple[ChangedRuntime, ...]
    reasons: tuple[ChangedReason, ...]
    stable: bool
    """Whether both worlds became stable, so that this is their end."""
    depends: tuple[Workload, ...] | None
    """Would run, or be evicted, or not, depending on which evicted workloads end first; None: not tried."""

    @property
    def harms(self) -> bool:
        """Whether a workload stops, or waits that would have started."""
        return bool(self.stops or self.waits)


def predict(before: World, after: World, now: datetime, known: Snapshot | None = None) -> Prediction:
    """Compare the ends of these worlds; `after` is `before` with the edit. `known`: as of `run`."""
    *_, whole = predict_in_steps(before, after, now, known)
    return whole


def predict_in_steps(before: World, after: World, now: datetime, known: Snapshot | None = None) -> Iterator[Prediction]:
    """Yield the prediction for evicted workloads that end together, which is soon there, and then the whole one."""
    without, edited = run(before, now, known=known), run(after, now, known=known)
    found = _compared(without, edited)
    yield found
    depends = {**_depending(before, without, now), **_depending(after, edited, now)}
    yield replace(found, depends=tuple(depends[each] for each in sorted(depends)))


def _depending(world: World, together: SimulationRun, now: datetime) -> dict[WorkloadId, Workload]:
    """Return the workloads that run at the end, or are evicted, in one order of ends and not in another."""
    found: dict[WorkloadId, Workload] = {}
    running, evicted = _running(together), _evictions(together)
    for order in ORDERS if together.most_ending > 1 else ():
        other = run(world, now, known=together.snapshot, ends=order)
        ran, went = _running(other), _evictions(other)
        found |= {each: (running | ran)[each] for each in running.keys() ^ ran.keys()}
        found |= {each: (evicted | went)[each].workload for each in evicted.keys() ^ went.keys()}
    return found


def _compared(without: SimulationRun, edited: SimulationRun) -> Prediction:
    evicted_without, evicted = _evictions(without), _evictions(edited)
    running_without, running = _running(without), _running(edited)
    waiting_without = {each.workload.id: each for each in PendingReasons(without.last)}
    waiting = {each.workload.id: each for each in PendingReasons(edited.last)}
    stops = [
        Stopped(each, workload_id in running)
        for workload_id, each in evicted.items()
        if workload_id not in evicted_without
    ]
    stopped = {each.evict.workload.id for each in stops}
    return Prediction(
        starts=tuple(running[each] for each in sorted(running.keys() - running_without.keys())),
        stops=tuple(stops),
        waits=tuple(each for key, each in waiting.items() if key in running_without and key not in stopped),
        runtimes=tuple(_runtimes(without, edited)),
        reasons=tuple(
            ChangedReason(waiting_without[key], each)
            for key, each in waiting.items()
            if key in waiting_without and waiting_without[key].message != each.message
        ),
        stable=without.settled and edited.settled,
        depends=None,
    )


def _evictions(of: SimulationRun) -> dict[WorkloadId, Evict]:
    """Return the first eviction of each workload that was running when the world was given."""
    found: dict[WorkloadId, Evict] = {}
    started: set[WorkloadId] = set()
    for plan in of.plans:
        for evict in plan.evictions:
            if evict.workload.id not in started:
                found.setdefault(evict.workload.id, evict)
        started.update(start.workload.id for start in plan.starts)
    return found


def _running(of: SimulationRun) -> dict[WorkloadId, Workload]:
    workloads = (each for found in of.world.workload_sets.values() for each in found.by_id.values())
    return {each.id: each for each in workloads if each.admission is not None and not each.is_evicting}


def _runtimes(before: SimulationRun, after: SimulationRun) -> Iterator[ChangedRuntime]:
    earlier, later = before.snapshot.numbers, after.snapshot.numbers
    for group in sorted(earlier.keys() | later.keys()):
        for key in sorted(earlier.get(group, {}).keys() | later.get(group, {}).keys()):
            was, becomes = (each.get(group, {}).get(key) for each in (earlier, later))
            amounts = was.runtime if was is not None else 0, becomes.runtime if becomes is not None else 0
            if amounts[0] != amounts[1]:
                yield ChangedRuntime(group, key, *amounts)


def prediction_as_data(found: Prediction) -> Mapping[str, Any]:
    """Return the prediction as `quotree what-if -o json` prints it."""
    return {
        "start": [{"workload": each.key, "group": each.group} for each in found.starts],
        "stop": [
            {
                "workload": each.evict.workload.key,
                "group": each.evict.workload.group,
                "reason": each.evict.reason.value,
                "rule": each.evict.rule.value,
                "for": each.evict.claim.preemptor if each.evict.claim is not None else None,
                "restarts": each.restarts,
            }
            for each in found.stops
        ],
        "wait": [
            {
                "workload": each.workload.key,
                "group": each.workload.group,
                "reason": each.reason.value,
                "message": each.message,
            }
            for each in found.waits
        ],
        "runtime": [
            {
                "group": each.group,
                "flavor": each.key.flavor,
                "resource": each.key.resource,
                "before": each.before,
                "after": each.after,
            }
            for each in found.runtimes
        ],
        "reasons": [
            {
                "workload": each.after.workload.key,
                "group": each.after.workload.group,
                "before": {"reason": each.before.reason.value, "message": each.before.message},
                "after": {"reason": each.after.reason.value, "message": each.after.message},
            }
            for each in found.reasons
        ],
        "stable": found.stable,
        "depends": None
        if found.depends is None
        else [{"workload": each.key, "group": each.group} for each in found.depends],
    }
