"""One leaf as a decision sees it: its work in order, its claims, and what is in force there."""

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from shared.quota.measure.accounts import NOTHING_WAITS, Asking, Tally, Waiting, tally, without_askers
from shared.quota.measure.buckets import Alike, Bucket, place_in_line
from shared.quota.measure.choosing import Chooser
from shared.quota.measure.frame import Frame
from shared.quota.measure.world import World
from shared.quota.model.eligibility import Options, Shape, shape_of
from shared.quota.model.lifecycle import STARTS_NOTHING, Inactive, reclaim_in_force, startup_in_force, stop_in_force
from shared.quota.model.settings import QuotaSettings, ReclaimSettings, StartupSettings
from shared.quota.model.tree import Group, StopPolicy
from shared.quota.model.workload import AskerId, Flavors, Workload


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """Room that is being freed for `asker`; None: no work of that name and uid is pending and considered anywhere."""

    asker_id: AskerId
    asker: Workload | None
    flavors: Flavors
    made: datetime
    """When the first of the evictions for it was decided."""
    victims: tuple[Workload, ...]
    swap: bool = False


@dataclass(frozen=True, slots=True)
class Head:
    """What is in force in a leaf, whatever work it has."""

    group: Group
    path: tuple[str, ...]
    stop: StopPolicy
    stopped_by: str
    inactive: Inactive | None
    reclaim: ReclaimSettings
    startup: StartupSettings


def read_head(frame: Frame, leaf: str, inactive: Mapping[str, Inactive], settings: QuotaSettings) -> Head:
    """What the path of `leaf` and the cluster's settings say."""
    groups = frame.path_groups(leaf)
    stop, by = stop_in_force(groups)
    return Head(
        group=groups[0],
        path=frame.path(leaf),
        stop=stop,
        stopped_by=by,
        inactive=inactive.get(leaf),
        reclaim=reclaim_in_force(groups, settings.reclaim),
        startup=startup_in_force(groups, settings.startup),
    )


@dataclass(frozen=True, slots=True, eq=False)
class LeafState:
    """One leaf as it stands. The same object in two snapshots means: nothing in it has changed."""

    group: Group
    path: tuple[str, ...]
    """Names from the leaf up to root."""
    stop: StopPolicy
    """In force here: the strictest on the path."""
    stopped_by: str
    """The nearest group that says so; the leaf itself when nothing is stopped."""
    inactive: Inactive | None
    reclaim: ReclaimSettings
    startup: StartupSettings
    pending: tuple[Workload, ...]
    """Work that may be started now as far as it alone is concerned, in the leaf's order; also in a stopped leaf."""
    aside: tuple[Workload, ...]
    """Held, backing off, deactivated: not considered, not counted."""
    admitted: tuple[Workload, ...]
    """Holding quota and not being evicted, in the leaf's order."""
    evicting: tuple[Workload, ...]
    unready: tuple[Workload, ...]
    """Those of `admitted` whose pods are not all ready; empty where the leaf does not wait for pods."""
    claims: Mapping[AskerId, HeldClaim]
    """By asker: claims of this leaf's pending work."""
    next_change: datetime | None
    """When the passing of time alone changes this leaf: the end of a back-off."""
    accounts: Tally
    """What the leaf uses, holds and requests, by key; its Numbers are made from it."""
    chooser: Chooser = field(repr=False)

    @property
    def may_start(self) -> bool:
        """Whether anything new starts here: the leaf is active and neither on Hold nor draining."""
        return self.inactive is None and self.stop not in STARTS_NOTHING

    def options(self, workload: Workload) -> Options:
        """Which flavors `workload` may take here; remembered per shape of work."""
        return self.chooser.options(workload)


def build_leaf(
    head: Head, bucket: Bucket, claims: Mapping[AskerId, HeldClaim], chooser: Chooser, now: datetime
) -> LeafState:
    """The leaf at `now`; of `claims`, those whose asker is in the bucket."""
    due = [workload for workload in bucket.backing_off if _is_due(workload, now)]
    waits = [workload for workload in bucket.backing_off if not _is_due(workload, now)]
    starts = head.inactive is None and head.stop not in STARTS_NOTHING
    waiting = _waiting(bucket, due, claims) if starts else NOTHING_WAITS
    return LeafState(
        group=head.group,
        path=head.path,
        stop=head.stop,
        stopped_by=head.stopped_by,
        inactive=head.inactive,
        reclaim=head.reclaim,
        startup=head.startup,
        pending=_merged(bucket.queue, due),
        aside=_merged(bucket.set_aside, waits),
        admitted=bucket.admitted,
        evicting=bucket.evicting,
        unready=bucket.unready if head.startup.wait_for_pods_ready else (),
        claims=claims,
        next_change=min((each.not_before for each in waits if each.not_before is not None), default=None),
        accounts=tally(bucket, waiting, chooser),
        chooser=chooser,
    )


def _waiting(bucket: Bucket, due: Sequence[Workload], claims: Mapping[AskerId, HeldClaim]) -> Waiting:
    """The pending work that counts in a leaf's request, when `due` of that which was backing off may be considered."""
    askers = {claim.asker_id: claim.asker for claim in claims.values() if claim.asker is not None}
    shapes = _with(bucket.shapes, (workload for workload in due if workload.preemptible))
    firm = _merged(bucket.firm, (workload for workload in due if not workload.preemptible))
    firm_shapes = _with(bucket.firm_shapes, (workload for workload in due if not workload.preemptible))
    if askers:
        shapes = without_askers(shapes, {key: each for key, each in askers.items() if each.preemptible})
        firm = tuple(workload for workload in firm if workload.asker_id not in askers)
        firm_shapes = without_askers(firm_shapes, {key: each for key, each in askers.items() if not each.preemptible})
    return Waiting(
        shapes=shapes,
        firm=firm,
        firm_shapes=firm_shapes,
        claims=[Asking(claim.asker, claim.flavors) for claim in claims.values() if claim.asker is not None],
    )


def _is_due(workload: Workload, now: datetime) -> bool:
    return workload.not_before is None or workload.not_before <= now


def _merged(line: tuple[Workload, ...], more: Iterable[Workload]) -> tuple[Workload, ...]:
    added = list(more)
    if not added:
        return line
    found = list(line)
    for workload in added:
        insort(found, workload, key=place_in_line)
    return tuple(found)


def _with(shapes: Mapping[Shape, Alike], more: Iterable[Workload]) -> Mapping[Shape, Alike]:
    found: dict[Shape, Alike] | None = None
    for workload in more:
        found = dict(shapes) if found is None else found
        shape = shape_of(workload)
        known = found.get(shape, Alike(0, workload))
        found[shape] = Alike(known.number + 1, known.example)
    return shapes if found is None else found


def claims_in(world: World, frame: Frame, now: datetime) -> dict[AskerId, HeldClaim]:
    """All claims that are not fulfilled, in the order of their askers' names.

    A claim is fulfilled once its asker has started, also when that has been evicted since.
    """
    found: dict[AskerId, HeldClaim] = {}
    for asker_id in sorted(world.victims):
        asker = world.askers.get(asker_id)
        if asker is not None and asker.admission is not None:
            continue
        claims = [(victim, victim.claim) for victim in world.victims[asker_id] if victim.claim is not None]
        if asker is not None and asker.eviction is not None:
            evicted = asker.eviction.at
            claims = [(victim, claim) for victim, claim in claims if claim.made >= evicted]
        if claims:
            oldest = min((claim for _, claim in claims), key=lambda claim: claim.made)
            found[asker_id] = HeldClaim(
                asker_id=asker_id,
                asker=asker if asker is not None and _is_considered(asker, frame, now) else None,
                flavors=oldest.flavors,
                made=oldest.made,
                victims=tuple(victim for victim, _ in claims),
                swap=oldest.swap,
            )
    return found


def _is_considered(asker: Workload, frame: Frame, now: datetime) -> bool:
    return not asker.hold and not asker.deactivated and _is_due(asker, now) and frame.is_leaf(asker.group)
