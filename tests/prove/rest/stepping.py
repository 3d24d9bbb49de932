"""A closed world lived through: each cycle measured, planned, judged and carried out, until it rests or never does.

The carrying out is written here again, apart from the engine's own simulation: evicted work may take cycles to end, and
nothing is ever erased from a victim but what a decision erases.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from shared.quota.decide.decisions import Evict, Plan
from shared.quota.decide.plan import plan as planned
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.world import OverSince, World
from shared.quota.measure.snapshot import Snapshot
from shared.quota.measure.snapshot import measure as measured
from shared.quota.model.in_force import tree_in_force
from shared.quota.model.tree import Amounts, Tree
from shared.quota.model.workload import Admission, Eviction, Workload
from shared.resources import FlavorResource
from tests.prove.worlds.world import STEP, ClosedWorld, Cordon
from tests.prove.worlds.world import Life as Fate
from tests.shared.quota.reference.inputs import EPOCH
from tests.shared.quota.reference.usage_by_definition import asked

PATIENCE = 150
"""Cycles after the last event in which a world must come to rest; time-outs and notices included."""
TURN_RESTS = 3
"""A world in which nothing changed until after so many borders of rests of turns is at rest: these go on endlessly."""


@dataclass(frozen=True)
class Cycle:
    """One cycle: what was known, what was decided."""

    number: int
    snapshot: Snapshot
    plan: Plan
    remembered: Plan | None = None
    """The plan of a process that has seen all cycles so far; None where nothing is remembered."""


@dataclass
class Life:
    """The state of a world between two cycles."""

    tree: Tree
    capacity: dict[FlavorResource, int]
    sizes: dict[str, tuple[Amounts, ...]] = field(default_factory=dict)
    work: dict[str, Workload] = field(default_factory=dict)
    ending: dict[str, int] = field(default_factory=dict)
    over_since: OverSince = field(default_factory=dict)
    evictions: dict[str, int] = field(default_factory=dict)


class Remembering:
    """A process that goes on from cycle to cycle: incremental measuring, and the cycle cache."""

    def __init__(self) -> None:
        self._world: World | None = None
        self._snapshot: Snapshot | None = None
        self._cache = CycleCache()

    def plan(self, fresh: World, now: datetime) -> Plan:
        """The plan for the same facts as `fresh`, which is made from nothing."""
        self._world = fresh if self._world is None else changed_into(self._world, fresh)
        self._snapshot = measured(self._world, now, self._snapshot)
        return planned(self._snapshot, self._cache)


def changed_into(previous: World, fresh: World) -> World:
    """`previous` with every fact of `fresh`; what is equal in both stays the same object."""
    before, after = _workloads(previous), _workloads(fresh)
    changes = [(before.get(key), after.get(key)) for key in before.keys() | after.keys()]
    world = previous.with_changes([change for change in changes if change[0] != change[1]])
    kept = {"workload_sets", "victims", "preemptors", "version", "history", "buckets"}
    parts = {name: _same(previous, fresh, name) for name in {each.name for each in fields(World)} - kept}
    return replace(world, **parts)


def _same(previous: World, fresh: World, name: str) -> Any:
    before, after = getattr(previous, name), getattr(fresh, name)
    return before if before == after else after


def _workloads(world: World) -> dict[str, Workload]:
    return {each.key: each for group in world.workload_sets.values() for each in group.by_id.values()}


def live(world: ClosedWorld, limit: int = PATIENCE) -> Iterator[Cycle]:
    """Every cycle until nothing changes any more; ends without rest after `limit` cycles beyond the last event."""
    life, remembering = Life(world.tree, dict(world.capacity), dict(world.sizes)), Remembering()
    now, rests_seen = EPOCH, 0
    for number in range(world.last_event + limit):
        happen(world, life, number, now)
        facts = engine_world(world, life, now)
        snapshot = measured(facts, now)
        plan = planned(snapshot)
        yield Cycle(number, with_turns(snapshot, plan), plan, remembering.plan(facts, now))
        carry_out(world, life, plan, now)
        now += STEP
        if (
            number >= world.last_event
            and plan.is_idle
            and not _is_under_way(snapshot)
            and not _will_finish(world, life)
        ):
            moments = [each for each in (plan.wake_at, plan.next_turn, plan.next_end) if each is not None]
            # Between two such borders a grace period may pass, after which nothing changes either.
            rests_seen += bool(moments) and min(moments) == snapshot.turns.next_change
            if not moments or rests_seen > TURN_RESTS:
                return
            now = max(now, min(moments))
        elif not _changes_turns_alone(plan):
            rests_seen = 0


def _changes_turns_alone(plan: Plan) -> bool:
    """Whether nothing but turns begins or ends: another has its turn while one rests, and that goes on endlessly."""
    return not plan.is_idle and replace(plan, turns_begun=(), turns_ended=()).is_idle


def with_turns(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The same moment with the turns that the plan has decided on: everything else in it goes by these numbers."""
    begun = {each.workload.id: each.turn for each in plan.turns_begun}
    begun |= {each.workload.id: each.workload.turn for each in plan.starts if each.workload.turn is not None}
    ended = {each.id for each in plan.turns_ended}
    changes = []
    for leaf in snapshot.leaves.values():
        for work in leaf.pending:
            turn = begun.get(work.id, None if work.id in ended else work.turn)
            changes.extend([] if turn == work.turn else [(work, replace(work, turn=turn))])
    return measured(snapshot.world.with_changes(changes), snapshot.now) if changes else snapshot


def rests(cycle: Cycle, world: ClosedWorld) -> bool:
    """Whether the cycle, the last one of a life, left nothing to wait for."""
    is_still = cycle.plan.is_idle and not _is_under_way(cycle.snapshot)
    endless = {each.work.key for each in world.lives if each.runs_for is None}
    runs_on = all(work.key in endless for leaf in cycle.snapshot.leaves.values() for work in leaf.admitted)
    return is_still and runs_on and cycle.plan.wake_at is None and cycle.number >= world.last_event


def _is_under_way(snapshot: Snapshot) -> bool:
    """Whether evicted work has not ended, or a start has not been answered."""
    leaves = snapshot.leaves.values()
    return any(leaf.evicting or any(not each.is_answered for each in leaf.admitted) for leaf in leaves)


def _will_finish(world: ClosedWorld, life: Life) -> bool:
    """Whether something runs that ends by itself."""
    finishing = (life.work.get(each.work.key) for each in world.lives if each.runs_for is not None)
    return any(work is not None and work.admission is not None for work in finishing)


def happen(world: ClosedWorld, life: Life, number: int, now: datetime) -> None:
    """What comes from outside in this cycle: arrivals, departures, losses, edits, pods that have become ready."""
    for each in world.lives:
        if each.arrives == number:
            life.work[each.work.key] = each.work
        if each.leaves == number:
            life.work.pop(each.work.key, None)
            life.ending.pop(each.work.key, None)
        if each.reordered is not None and each.reordered[0] == number and each.work.key in life.work:
            _write(life, each.work, priority=each.reordered[1])
        _finish(life, each, now)
    for loss in world.losses:
        if loss.at == number:
            life.capacity[loss.key] = loss.left
    for resize in world.resizes:
        if resize.at == number:
            life.sizes[resize.flavor] = resize.sizes
    for each in world.lives:
        _be_answered(life, each, now)
        _become_ready(life, each, now)
    _edit(world, life, number)


def _edit(world: ClosedWorld, life: Life, number: int) -> None:
    for edit in world.edits:
        if edit.at == number:
            life.tree = life.tree.with_group(edit.group)
    for cordon in world.cordons:
        if cordon.at == number:
            _cordon(life, cordon)


def _cordon(life: Life, cordon: Cordon) -> None:
    """What runs of these workloads is on closed nodes now: it is capacity only for as long as it runs."""
    for work in [each for key, each in sorted(life.work.items()) if key in cordon.work]:
        if work.admission is None or work.on_closed_nodes:
            continue
        held = {
            key: -(-amount // cordon.parts)
            for key, amount in asked(work, work.admission.flavors).items()
            if amount <= life.capacity.get(key, 0)
        }
        for key, amount in held.items():
            life.capacity[key] -= amount
        _write(life, work, admission=replace(work.admission, on_closed_nodes=held))


def _finish(life: Life, each: Fate, now: datetime) -> None:
    work = life.work.get(each.work.key)
    if work is None or each.runs_for is None or work.admission is None or work.eviction is not None:
        return
    if now >= work.admission.since + STEP * each.runs_for:
        del life.work[each.work.key]


def _be_answered(life: Life, each: Fate, now: datetime) -> None:
    work = life.work.get(each.work.key)
    if work is None or work.admission is None or work.admission.answered:
        return
    if now >= work.admission.since + STEP * each.answered_in:
        _write(life, work, admission=replace(work.admission, answered=True))


def _become_ready(life: Life, each: Fate, now: datetime) -> None:
    work = life.work.get(each.work.key)
    if work is None or work.admission is None or work.admission.ready or each.ready_in is None:
        return
    if not work.admission.answered:
        return
    if now >= work.admission.since + STEP * each.ready_in:
        _write(life, work, admission=replace(work.admission, ready=True, was_ready=True))


def new_life(world: ClosedWorld) -> Life:
    """The beginning: what is there in cycle 0."""
    life = Life(world.tree, dict(world.capacity), dict(world.sizes))
    happen(world, life, 0, EPOCH)
    return life


def engine_world(world: ClosedWorld, life: Life, now: datetime) -> World:
    """The facts as the engine takes them, made from nothing."""
    closed = Counter[FlavorResource]()
    for work in life.work.values():
        closed.update(work.on_closed_nodes)
    given = tuple((key.flavor, key.resource, amount + closed[key]) for key, amount in life.capacity.items())
    settings = replace(world.settings, capacity=given)
    engine = World.of(tree_in_force(life.tree, now), world.flavors, life.work.values(), settings=settings)
    is_timed = any(group.overrides or group.windows for group in life.tree.groups.values())
    written = life.tree if is_timed else None
    return replace(engine, over_since=life.over_since, largest_nodes=dict(life.sizes), written=written)


def carry_out(world: ClosedWorld, life: Life, plan: Plan, now: datetime) -> None:
    """Write the decisions as the reconciler would, and let time pass for pods that are ending."""
    for key in life.ending:
        life.ending[key] -= 1
    for ended in plan.claims_ended:
        _write(life, ended.victim, claim=None)
    for start in plan.starts:
        admission = Admission(start.flavors, now, answered=False)
        turn = start.workload.turn
        _write(life, start.workload, admission=admission, eviction=None, notice=None, not_before=None, turn=turn)
    for evict in plan.evictions:
        _evict(world, life, evict, now)
    for begun in plan.turns_begun:
        _write(life, begun.workload, turn=begun.turn)
    for without in plan.turns_ended:
        _write(life, without, turn=None)
    for notice in plan.notices:
        _write(life, notice.workload, notice=now)
    for withdrawn in plan.notices_withdrawn:
        _write(life, withdrawn, notice=None)
    for key in [key for key, left in life.ending.items() if left <= 0]:
        del life.ending[key]
        _write(life, life.work[key], admission=None)
    life.over_since = plan.over_since


def _evict(world: ClosedWorld, life: Life, evict: Evict, now: datetime) -> None:
    key = evict.workload.key
    _write(
        life,
        evict.workload,
        eviction=Eviction(evict.reason, now),
        claim=evict.claim,
        queued=evict.requeue.queued,
        not_before=evict.requeue.not_before,
        failed_starts=evict.requeue.failed_starts,
        deactivated=evict.requeue.deactivated,
        notice=None,
        turn=None,
    )
    life.ending[key] = next(each.stops_in for each in world.lives if each.work.key == key) - 1
    life.evictions[key] = life.evictions.get(key, 0) + 1


def _write(life: Life, work: Workload, **fields: object) -> None:
    """Change the record as it is now: two decisions of one cycle may write on the same victim."""
    life.work[work.key] = replace(life.work[work.key], **fields)  # type: ignore[arg-type]
