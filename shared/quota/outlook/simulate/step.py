"""The world after a plan: decisions carried out, evicted workloads ended. Pure; an API server does this for real.

Starts are ready at once, and a preemptor's claims are forgotten when it starts.

See docs/specification.md §9.5.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from shared.quota.decide.decisions import Evict, Plan, Start
from shared.quota.measure.inputs.workload_set import WorkloadChange
from shared.quota.measure.inputs.world import World
from shared.quota.model.workload import Admission, Workload, WorkloadId


def advance(world: World, decided: Plan, now: datetime | None = None) -> World:
    """Return the world one cycle later: decisions carried out, evicted workloads ended."""
    return end_evictions(carry_out(world, decided, now))


def carry_out(world: World, decided: Plan, now: datetime | None = None) -> World:
    """Return the world in which these decisions were written at `now` (the plan's own moment when not given).

    Starts are admitted, victims are being evicted until `end_evictions`.
    """
    now = decided.now if now is None else now
    changed = _Changes()
    for ended in decided.claims_ended:
        changed.write(ended.victim, replace(changed.current(ended.victim), claim=None))
    for start in decided.starts:
        changed.write(start.workload, _started(changed.current(start.workload), start, now))
        for victim in world.victims.get(start.workload.preemptor_id, ()):
            changed.write(victim, replace(changed.current(victim), claim=None))
    for evict in decided.evictions:
        changed.write(evict.workload, _evicted(changed.current(evict.workload), evict, now))
    for notice in decided.notices:
        changed.write(notice.workload, replace(changed.current(notice.workload), notice=now))
    for begun in decided.turns_begun:
        changed.write(begun.workload, replace(changed.current(begun.workload), turn=begun.turn))
    for ended_turn in decided.turns_ended:
        changed.write(ended_turn, replace(changed.current(ended_turn), turn=None))
    for told in decided.notices_withdrawn:
        changed.write(told, replace(changed.current(told), notice=None))
    return replace(world.with_changes(changed), over_since=decided.over_since)


def evicting_in(world: World) -> list[Workload]:
    """Return the workloads whose eviction is under way."""
    return [workload for workloads in world.workload_sets.values() for workload in workloads.evicting]


def end_evictions(world: World, but: Collection[WorkloadId] = ()) -> World:
    """Return the world once the pods of evicted workloads have ended, except those of the workloads named."""
    return end_now(world, [each for each in evicting_in(world) if each.id not in but])


def end_now(world: World, ending: Iterable[Workload]) -> World:
    """Return the world once the pods of these workloads have ended, which are being evicted; the same for none."""
    changes = [(workload, replace(workload, admission=None)) for workload in ending]
    return world.with_changes(changes) if changes else world


def _started(workload: Workload, start: Start, now: datetime) -> Workload:
    admission = Admission(start.flavors, now, ready=True, was_ready=True)
    return replace(workload, admission=admission, eviction=None, notice=None, not_before=None)


def _evicted(workload: Workload, evict: Evict, now: datetime) -> Workload:
    return replace(
        workload,
        eviction=evict.as_eviction(now),
        claim=evict.claim,
        queued=evict.requeue.queued,
        not_before=evict.requeue.not_before,
        failed_starts=evict.requeue.failed_starts,
        evictions=workload.evictions + 1,
        deactivated=evict.requeue.deactivated,
        notice=None,
        turn=None,
    )


class _Changes:
    """Changes of one step, one per workload however many decisions touch it."""

    def __init__(self) -> None:
        self._changes: dict[tuple[str, WorkloadId], tuple[Workload, Workload]] = {}

    def current(self, workload: Workload) -> Workload:
        """Return the workload as it is after the changes so far."""
        found = self._changes.get((workload.group, workload.id))
        return workload if found is None else found[1]

    def write(self, workload: Workload, after: Workload) -> None:
        """Let it be `after` from now on."""
        previous = self._changes.get((workload.group, workload.id))
        self._changes[workload.group, workload.id] = (previous[0] if previous is not None else workload, after)

    def __iter__(self) -> Iterator[WorkloadChange]:
        return iter(self._changes.values())
