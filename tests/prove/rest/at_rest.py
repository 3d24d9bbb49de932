"""Invariants of a closed world at rest: every entitled workload runs, and every wait has its reason."""

from collections.abc import Iterator

from shared.quota.decide.decisions import WaitExplanation, WaitReason
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.workload import Flavors, Workload
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from shared.resources import FlavorResource
from tests.prove.rest.stepping import Cycle
from tests.shared.quota.judging.judgement import Judgement
from tests.shared.quota.judging.waits import is_behind_a_head
from tests.shared.quota.reference.usage_by_definition import Book, asked, present, ways_to_run

STATED = frozenset(
    {WaitReason.PODS_NOT_READY, WaitReason.NEVER_FITS, WaitReason.NO_NODE_FITS, WaitReason.NO_ELIGIBLE_FLAVOR}
)


def unrest(cycle: Cycle) -> Iterator[str]:
    """What is wrong with the last cycle of a world in which nothing changes any more."""
    judgement = Judgement(cycle.snapshot, cycle.plan)
    for leaf in cycle.snapshot.leaves.values():
        for work in leaf.pending:
            if leaf.may_start:
                yield from (f"{work.key} waits: {found}" for found in _of_waiting(cycle, judgement, leaf, work))


def _of_waiting(cycle: Cycle, judgement: Judgement, leaf: LeafSnapshot, work: Workload) -> Iterator[str]:
    waiting = PendingReasons(cycle.plan).why(work)
    if waiting is None or not waiting.message:
        yield "no reason is given"
        return
    if waiting.reason is WaitReason.WAITING_FOR_QUOTA and (waiting.missing <= 0 or not waiting.binding):
        yield f"for quota, but {waiting.missing} are missing at {waiting.binding!r}"
    for flavors in ways_to_run(cycle.snapshot, work):
        if is_behind_a_head(judgement, leaf, work, flavors):
            continue
        book = judgement.with_claims(present(cycle.snapshot), but=work)
        if not _may_be_held(judgement, leaf, work, flavors):
            continue
        if book.fits(work, flavors):
            is_free = not _kept_for_a_turn(cycle, judgement, book, work, flavors) and waiting.reason not in STATED
            if is_free and not _too_much_for_strict(judgement, book, leaf, work, flavors):
                yield f"it fits in {dict(flavors)}, but: {waiting.message}"
        elif judgement.is_entitled(leaf, work, flavors):
            is_stuck = held_beyond_min(judgement, asked(work, flavors)) or _is_on_closed_nodes(judgement, work, flavors)
            if not is_stuck and not _waits_for_a_turn(cycle, work, waiting):
                yield f"it is entitled to {dict(flavors)}, and only preemptible work is in its way"
        elif _is_within_min(judgement, leaf, work, flavors):
            yield f"in {dict(flavors)} it is within its min, but not entitled"


def _is_on_closed_nodes(judgement: Judgement, work: Workload, flavors: Flavors) -> bool:
    """Whether some of what it asks for is held on nodes that take no more pods: that frees nothing."""
    return any(judgement.snapshot.world.on_closed_nodes.get(key) for key in asked(work, flavors))


def _waits_for_a_turn(cycle: Cycle, work: Workload, waiting: WaitExplanation) -> bool:
    """Whether its room is kept until what siblings of a turn have beyond their runtime ends by itself."""
    spared = any(each.spared for own in cycle.snapshot.numbers.values() for each in own.values())
    within_min = all(
        own.used + work.request[key.resource] <= own.min
        for key, own in cycle.snapshot.numbers[work.group].items()
        if key.resource in work.request
    )
    return spared and not within_min and waiting.reason is WaitReason.ROOM_DELAYED


def _kept_for_a_turn(cycle: Cycle, judgement: Judgement, book: Book, work: Workload, flavors: Flavors) -> bool:
    """Whether it does not fit beside those whose room is kept in that way."""
    reasons, kept = PendingReasons(cycle.plan), judgement.with_claims(book)
    for leaf in cycle.snapshot.leaves.values():
        for other in leaf.pending if leaf.may_start else ():
            why = reasons.why(other)
            if why is not None and other.id != work.id and _waits_for_a_turn(cycle, other, why):
                turn = other.turn
                ways = [turn.flavors] if turn is not None else list(ways_to_run(cycle.snapshot, other))[:1]
                for way in ways:
                    kept.add(other, way)
    return not kept.fits(work, flavors)


def _may_be_held(judgement: Judgement, leaf: LeafSnapshot, work: Workload, flavors: Flavors) -> bool:
    if work.preemptible:
        return True
    return all(
        judgement.non_preemptible(leaf, key, but=work) + amount
        <= judgement.now_used.numbers(work.group, key).effective_min
        for key, amount in asked(work, flavors).items()
    )


def _too_much_for_strict(
    judgement: Judgement, book: Book, leaf: LeafSnapshot, work: Workload, flavors: Flavors
) -> bool:
    if leaf.reclaim.mode is not ReclaimMode.STRICT or judgement.is_entitled(leaf, work, flavors):
        return False
    return any(book.used(work.group, key) >= book.numbers(work.group, key).runtime for key in asked(work, flavors))


def held_beyond_min(judgement: Judgement, keys: dict[FlavorResource, int]) -> bool:
    """Whether some group's work that is not preemptible holds more than its min in effect, on one of those keys."""
    snapshot = judgement.snapshot
    return any(
        numbers[key].non_preemptible > numbers[key].effective_min
        for name, numbers in snapshot.numbers.items()
        if name != "system"
        for key in keys
        if key in numbers
    )


def _is_within_min(judgement: Judgement, leaf: LeafSnapshot, work: Workload, flavors: Flavors) -> bool:
    """Whether min promises the room. Where mins are scaled, one unit of it may be in use elsewhere, and stays there."""
    numbers = judgement.snapshot.numbers.values()
    if any(own[key].effective_min < own[key].min for own in numbers for key in asked(work, flavors) if key in own):
        return False
    book = judgement.with_claims(judgement.now_used, but=work).add(work, flavors)
    return all(
        book.used(work.group, key) <= book.numbers(work.group, key).effective_min for key in asked(work, flavors)
    ) and not held_beyond_min(judgement, asked(work, flavors))
