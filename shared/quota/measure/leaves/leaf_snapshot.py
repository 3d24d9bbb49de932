"""One leaf as a decision sees it: its workloads in order, its claims, and the settings in force."""

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from shared.api.durations import earlier, later
from shared.quota.measure.inputs.workload_set import WorkloadSet, queue_order
from shared.quota.measure.inputs.world import World
from shared.quota.measure.leaves.leaf_order import RequesterOrder
from shared.quota.measure.leaves.leaf_totals import (
    NOTHING_COUNTED,
    ClaimedWorkload,
    CountedPending,
    TotalsByKey,
    sum_leaf,
)
from shared.quota.measure.static.flavor_eligibility import FlavorEligibility
from shared.quota.measure.static.leaf_settings import LeafSettings
from shared.quota.measure.static.tree_index import TreeIndex
from shared.quota.model.eligibility import Options
from shared.quota.model.lifecycle import STARTS_NOTHING, Inactive, RunEnd, RunTimeLimit, run_end
from shared.quota.model.settings import ReclaimSettings, StartupSettings
from shared.quota.model.tree import Group, QueueingStrategy, QueueOrder, StopPolicy
from shared.quota.model.workload import Flavors, PreemptorId, Workload

_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
_END: Final = datetime.max.replace(tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class OpenClaim:
    """Quota that is being freed for `preemptor`; None: no workload of that name and uid is pending and considered."""

    preemptor_id: PreemptorId
    preemptor: Workload | None
    flavors: Flavors
    made: datetime
    """When the first of the evictions for it was decided."""
    victims: tuple[Workload, ...]
    swap: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class LeafSnapshot:
    """One leaf. The same object in two snapshots means that nothing in it has changed."""

    group: Group
    path: tuple[str, ...]
    """Names from the leaf up to root."""
    stop: StopPolicy
    """The stop policy in force here: the strictest on the path."""
    stopped_by: str
    """The nearest group that sets `stop`; the leaf itself when nothing is stopped."""
    inactive: Inactive | None
    reclaim: ReclaimSettings
    startup: StartupSettings
    run_time: RunTimeLimit | None
    """How long workloads may run here; None: no limit but what they declare."""
    patience: timedelta | None
    """How long others may pass a workload that waits; None: without end."""
    turn_after: timedelta | None
    """How long a head waits before it may have a turn; None: it gets none."""
    order: RequesterOrder
    pending: tuple[Workload, ...]
    """Workloads that nothing of their own keeps from starting, in the leaf's order; also in a stopped leaf."""
    aside: tuple[Workload, ...]
    """On hold, backing off, deactivated: not considered, not counted."""
    admitted: tuple[Workload, ...]
    """Admitted and not being evicted, by priority, then age."""
    evicting: tuple[Workload, ...]
    unready: tuple[Workload, ...]
    """Those of `admitted` whose pods are not all ready; empty where the leaf does not wait for pods."""
    without_place: tuple[Workload, ...]
    """Those of `admitted` whose pods are not all ready, whether or not the leaf waits for that."""
    noticed: tuple[Workload, ...]
    """The workloads of `admitted` that have notice of their eviction."""
    ending: tuple[tuple[Workload, RunEnd], ...]
    """Those of `admitted` whose run time is over, or so soon that notice of it is due."""
    with_turn: tuple[Workload, ...]
    """Those on which a turn is written, whether or not it holds."""
    claims: Mapping[PreemptorId, OpenClaim]
    """preemptor -> the claim of this leaf's pending workload."""
    next_change: datetime | None
    """When the passing of time alone changes this leaf: the end of a back-off, or of the head's patience."""
    next_end: datetime | None
    """When the next of `admitted` is in `ending`."""
    totals: TotalsByKey
    """key -> what the leaf uses and requests; its Numbers are computed from it."""
    eligibility: FlavorEligibility = field(repr=False)

    @property
    def may_start(self) -> bool:
        """Whether anything new starts here: the leaf is active and neither on Hold nor draining."""
        return self.inactive is None and self.stop not in STARTS_NOTHING

    @property
    def wake_time(self) -> datetime | None:
        """When the passing of time alone makes another snapshot of this leaf."""
        return min((each for each in (self.next_change, self.next_end) if each is not None), default=None)

    def is_alike(self, other: "LeafSnapshot") -> bool:
        """Whether the two differ in their eligibility at most, and both were answered alike by it.

        So it is after an edit of a flavor that no workload here minds.
        """
        if self.eligibility.alike is not other.eligibility.alike:
            return False
        return all(getattr(self, name) is getattr(other, name) for name in self.__slots__ if name != "eligibility")

    def held_back_from(self, now: datetime) -> datetime | None:
        """Workloads that were queued at that moment or before hold back those behind them while they wait."""
        if self.group.queueing is QueueingStrategy.STRICT_FIFO:
            return _END
        return None if self.patience is None else earlier(now, self.patience)

    def place_in_queue(self) -> Callable[[Workload], tuple[object, ...]]:
        """Return what compares the places of workloads in the leaf's order; one that is not pending is the last."""
        if self.order.order is QueueOrder.AGE:
            return queue_order
        places = {workload.id: number for number, workload in enumerate(self.pending)}
        return lambda workload: (places.get(workload.id, len(places)),)

    def options(self, workload: Workload) -> Options:
        """Return which flavors `workload` may take here; cached per shape."""
        return self.eligibility.options(workload)


def build_leaf(  # noqa: PLR0913
    head: LeafSettings,
    workload_set: WorkloadSet,
    claims: Mapping[PreemptorId, OpenClaim],
    eligibility: FlavorEligibility,
    *,
    order: RequesterOrder,
    now: datetime,
) -> LeafSnapshot:
    """Build the leaf at `now`; of `claims`, those whose preemptor is in the set."""
    due = [workload for workload in workload_set.backing_off if _is_due(workload, now)]
    waits = [workload for workload in workload_set.backing_off if not _is_due(workload, now)]
    starts = head.inactive is None and head.stop not in STARTS_NOTHING
    pending = _sorted(order, _merged(workload_set.queue, due))
    back_offs = [each.not_before for each in waits if each.not_before is not None]
    waiting = _waiting(workload_set, due, claims, pending) if starts else NOTHING_COUNTED
    ending, next_end = _ending(head, workload_set, now)
    return LeafSnapshot(
        group=head.group,
        path=head.path,
        stop=head.stop,
        stopped_by=head.stopped_by,
        inactive=head.inactive,
        reclaim=head.reclaim,
        startup=head.startup,
        run_time=head.run_time,
        patience=head.patience,
        turn_after=head.turn_after,
        order=order,
        pending=pending,
        aside=_merged(workload_set.set_aside, waits),
        admitted=workload_set.admitted,
        evicting=workload_set.evicting,
        unready=workload_set.unready if head.startup.wait_for_pods_ready else (),
        without_place=workload_set.unready,
        noticed=workload_set.noticed,
        ending=ending,
        with_turn=workload_set.with_turn,
        claims=claims,
        next_change=min((*back_offs, *_end_of_patience(head, pending, now)), default=None),
        next_end=next_end,
        totals=sum_leaf(workload_set, waiting, eligibility),
        eligibility=eligibility,
    )


def _ending(
    head: LeafSettings, workload_set: WorkloadSet, now: datetime
) -> tuple[tuple[tuple[Workload, RunEnd], ...], datetime | None]:
    """Return the running workloads of whose end notice is due by now, and when that is due of the next one."""
    limited = workload_set.declaring if head.run_time is None else workload_set.admitted
    found = [(workload, run_end(workload, head.run_time, head.reclaim.notice)) for workload in limited]
    ends = [(workload, end) for workload, end in found if end is not None]
    ending = tuple((workload, end) for workload, end in ends if end.notice <= now)
    return ending, min((end.notice for _, end in ends if end.notice > now), default=None)


def _end_of_patience(head: LeafSettings, pending: Sequence[Workload], now: datetime) -> Iterator[datetime]:
    """Return when the head begins to hold back others, if that alone can change what starts: they take another flavor.

    Rounded up to an eighth of the patience, so that many leaves cause few cycles.
    """
    if not head.patience or len(pending) < 2 or not head.has_choice:
        return
    step = max(head.patience / 8, _SECOND)
    since_beginning: timedelta = pending[0].queued - _BEGINNING
    due = later(_BEGINNING, -(-(since_beginning + head.patience) // step) * step)
    if due > now:
        yield due


def _waiting(
    workload_set: WorkloadSet,
    due: Sequence[Workload],
    claims: Mapping[PreemptorId, OpenClaim],
    pending: Sequence[Workload],
) -> CountedPending:
    """Return the pending workloads that count in a leaf's request.

    `due`: those whose back-off has ended; `pending`: all, in the leaf's order.
    """
    preemptors = {claim.preemptor_id: claim.preemptor for claim in claims.values() if claim.preemptor is not None}
    shapes, others = workload_set.shapes, workload_set.non_preemptible_shapes
    if due or preemptors:
        counts = [*((each, 1) for each in due), *((each, -1) for each in preemptors.values())]
        shapes = shapes.after(each for each in counts if each[0].preemptible)
        others = others.after(each for each in counts if not each[0].preemptible)
    non_preemptible = [each for each in pending if not each.preemptible] if any(others.parts) else []
    if preemptors:
        non_preemptible = [each for each in non_preemptible if each.preemptor_id not in preemptors]
    return CountedPending(
        shapes=shapes,
        non_preemptible=non_preemptible,
        non_preemptible_shapes=others,
        claims=[
            ClaimedWorkload(claim.preemptor, claim.flavors) for claim in claims.values() if claim.preemptor is not None
        ],
    )


def _sorted(order: RequesterOrder, line: tuple[Workload, ...]) -> tuple[Workload, ...]:
    """Return the line in the leaf's order; the same object where that is by age."""
    return line if order.order is QueueOrder.AGE else order.sort(line)


def _is_due(workload: Workload, now: datetime) -> bool:
    return workload.not_before is None or workload.not_before <= now


def _merged(line: tuple[Workload, ...], more: Iterable[Workload]) -> tuple[Workload, ...]:
    added = list(more)
    if not added:
        return line
    found = list(line)
    for workload in added:
        insort(found, workload, key=queue_order)
    return tuple(found)


def claims_in(world: World, tree_index: TreeIndex, now: datetime) -> dict[PreemptorId, OpenClaim]:
    """Return all claims that are not fulfilled, in the order of their preemptors' ids.

    A claim is fulfilled once its preemptor has started, even if the preemptor has been evicted since.
    """
    found: dict[PreemptorId, OpenClaim] = {}
    for preemptor_id in sorted(world.victims):
        preemptor = world.preemptors.get(preemptor_id)
        if preemptor is not None and preemptor.admission is not None:
            continue
        claims = [(victim, victim.claim) for victim in world.victims[preemptor_id] if victim.claim is not None]
        if preemptor is not None and preemptor.eviction is not None:
            evicted = preemptor.eviction.at
            claims = [(victim, claim) for victim, claim in claims if claim.made >= evicted]
        if claims:
            oldest = min((claim for _, claim in claims), key=lambda claim: claim.made)
            found[preemptor_id] = OpenClaim(
                preemptor_id=preemptor_id,
                preemptor=preemptor if preemptor is not None and _is_considered(preemptor, tree_index, now) else None,
                flavors=oldest.flavors,
                made=oldest.made,
                victims=tuple(victim for victim, _ in claims),
                swap=oldest.swap,
            )
    return found


def _is_considered(preemptor: Workload, tree_index: TreeIndex, now: datetime) -> bool:
    return (
        not preemptor.hold
        and not preemptor.deactivated
        and _is_due(preemptor, now)
        and tree_index.is_leaf(preemptor.group)
    )
