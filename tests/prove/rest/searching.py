"""Searches one closed world for violated invariants; the result lists what was found.

See docs/specification.md §7.13.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta

from shared.quota.decide.decisions import Plan, Tier
from shared.quota.decide.plan import plan as planned
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot
from shared.quota.measure.snapshot import measure as measured
from shared.quota.model.in_force import tree_in_force
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Workload
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.quota.outlook.simulate.run import advance
from tests.prove.rest.accounted import AccountedLife
from tests.prove.rest.at_rest import STATED, unrest
from tests.prove.rest.borders import without_notice, wrong_borders
from tests.prove.rest.stepping import PATIENCE, Cycle, engine_world, live, new_life, rests, with_turns
from tests.prove.worlds.world import ClosedWorld
from tests.shared.quota.judging.judgement import Judgement, Promise
from tests.shared.quota.judging.oracle import judged
from tests.shared.quota.judging.waits import COMING
from tests.shared.quota.reference.inputs import EPOCH
from tests.shared.quota.reference.usage_by_definition import ways_to_run

MANY_EVICTIONS = 8
"""A workload evicted more often than this in a world of at most ten is taken for one that never stops moving."""


def flaws(world: ClosedWorld) -> Iterator[str]:
    """What is wrong with that world's life; each line starts with the kind of flaw."""
    try:
        yield from wrong_borders(world)
        yield from _of_life(world, live(world))
        yield from (f"simulated: {found}" for found in _of_life(simulated(world), simulate(world)))
    except Exception as problem:
        yield f"exception: {type(problem).__name__}: {problem}"


def _of_life(world: ClosedWorld, cycles: Iterable[Cycle]) -> Iterator[str]:
    evictions: Counter[str] = Counter()
    overtaken: dict[str, str] = {}
    last: Cycle | None = None
    missed: set[str] = set()
    accounted = AccountedLife()
    for last in cycles:
        accounted.see(last)
        wrong, waiting = judged(last.snapshot, last.plan)
        could_start = set(waiting)
        yield from (f"cycle {last.number}: for the second time {found}" for found in sorted(could_start & missed))
        missed = could_start
        yield from (f"cycle {last.number}: {found}" for found in wrong)
        yield from (f"cycle {last.number}: {found}" for found in (*_forgotten(last), *without_notice(last)))
        for start in last.plan.starts:
            overtaken.pop(start.workload.key, None)
        overtaken.update(_overtaken(last))
        evictions.update(evict.workload.key for evict in last.plan.evictions)
    assert last is not None
    yield from accounted.flaws()
    if not rests(last, world):
        yield f"endless: no rest within {PATIENCE} cycles; evictions {dict(evictions.most_common(3))}"
        return
    for key, times in evictions.items():
        if times > MANY_EVICTIONS:
            yield f"endless: {key} is evicted {times} times before rest"
    yield from (f"at rest: {found}" for found in unrest(last))
    yield from (f"at rest: {found}" for found in _lost_for_good(last, overtaken))


def _forgotten(cycle: Cycle) -> Iterator[str]:
    """Where a process that remembers previous cycles decides otherwise than one that has just started."""
    if cycle.remembered is None:
        return
    for (name, fresh), (_, remembered) in zip(whole(cycle.plan).items(), whole(cycle.remembered).items(), strict=True):
        if fresh != remembered:
            yield f"remembered: {name} of a fresh process {fresh}, of one that goes on {remembered}"


def whole(plan: Plan) -> dict[str, object]:
    """Everything that a plan says, in comparable form."""
    return {
        "starts": [(each.workload.key, each.flavors, each.tier) for each in plan.starts],
        "evictions": [(each.workload.key, each.reason, each.rule, each.claim) for each in plan.evictions],
        "notices": [each.workload.key for each in plan.notices],
        "withdrawn notices": [each.key for each in plan.notices_withdrawn],
        "ended claims": [(each.victim.key, each.reason) for each in plan.claims_ended],
        "over since": dict(plan.over_since),
        "next moments": (plan.wake_at, plan.next_turn, plan.next_end),
        "reasons": sorted((each.workload.key, each.message) for each in PendingReasons(plan)),
    }


def _overtaken(cycle: Cycle) -> Iterator[tuple[str, str]]:
    """Entitled work whose room comes later, and work behind it that borrows and that it cannot preempt."""
    if not any(start.tier is Tier.OPPORTUNISTIC for start in cycle.plan.starts):
        return
    judgement = Judgement(cycle.snapshot, cycle.plan)
    for number, start in enumerate(cycle.plan.starts):
        if number in cycle.plan.measured_after:
            judgement.measure_again()
        borrows = start.tier is Tier.OPPORTUNISTIC
        if borrows and not start.on_claim:
            yield from ((work.key, start.workload.key) for work in _passed_by(cycle, judgement, start.workload))
        judgement.started.append(Promise(start.workload, start.flavors, borrows=borrows))


def _passed_by(cycle: Cycle, judgement: Judgement, started: Workload) -> Iterator[Workload]:
    """Work before `started` in its leaf that was still entitled then, and waits for its room without a claim."""
    reasons, leaf = PendingReasons(cycle.plan), judgement.snapshot.leaves[started.group]
    claims = {evict.claim.preemptor_id for evict in cycle.plan.evictions if evict.claim} | leaf.claims.keys()
    for work in leaf.pending[: leaf.pending.index(started)]:
        waiting = reasons.why(work)
        is_safe = started.preemptible and started.priority < work.priority
        if waiting is None or waiting.reason not in COMING or work.preemptor_id in claims or is_safe:
            continue
        if any(judgement.was_entitled(leaf, work, flavors) for flavors in ways_to_run(judgement.snapshot, work)):
            yield work


def _lost_for_good(cycle: Cycle, overtaken: Mapping[str, str]) -> Iterator[str]:
    reasons = PendingReasons(cycle.plan)
    for leaf in cycle.snapshot.leaves.values():
        running = {work.key: work for work in leaf.admitted}
        for work in leaf.pending:
            waiting, other = reasons.why(work), running.get(overtaken.get(work.key, ""))
            waits = leaf.may_start and waiting is not None and waiting.reason not in STATED
            if waits and other is not None and _starts_without(cycle, work, other):
                yield f"{work.key} waits: its room was delayed, and {other.key} behind it took it"


def _starts_without(cycle: Cycle, work: Workload, other: Workload) -> bool:
    """Whether the work would start if that other one were gone; if not, something else keeps it from starting."""
    world, snapshot = cycle.snapshot.world.with_changes([(other, None)]), None
    for _ in range(MANY_EVICTIONS):
        snapshot = measured(world, cycle.snapshot.now, snapshot)
        plan = planned(snapshot)
        if any(start.workload.id == work.id for start in plan.starts):
            return True
        world = advance(world, plan)
    return False


def simulated(world: ClosedWorld) -> ClosedWorld:
    """The world as `quotree simulate` takes it: all there from the beginning, nothing from outside later."""
    lives = tuple(
        replace(life, arrives=0, leaves=None, stops_in=1, ready_in=0, runs_for=None, reordered=None)
        for life in world.lives
    )
    groups = (replace(group, overrides=(), windows=()) for group in tree_in_force(world.tree, EPOCH).groups.values())
    return replace(world, tree=Tree.of(groups), lives=lives, losses=(), edits=(), resizes=(), cordons=())


def simulate(world: ClosedWorld) -> Iterator[Cycle]:
    """The cycles of the engine's own simulation: each snapshot made from the previous, and no time between cycles."""
    still = simulated(world)
    engine: World = engine_world(still, new_life(still), EPOCH)
    snapshot: Snapshot | None = None
    now = EPOCH + timedelta(minutes=10)
    for number in range(PATIENCE):
        snapshot = measured(engine, now, snapshot)
        plan = planned(snapshot)
        yield Cycle(number, with_turns(snapshot, plan), plan)
        if plan.is_idle and plan.wake_at is None:
            return
        engine = advance(engine, plan)
        now = plan.wake_at if plan.is_idle and plan.wake_at else now
