"""Whether a cycle leaves work waiting that it could start: there is room now and later, and no rule is against it."""

from collections.abc import Iterator

from shared.quota.decide.decisions import WaitReason
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.tree import WhenCanReclaim
from shared.quota.model.workload import Flavors, Workload, flavor_names
from shared.quota.outlook.explain.pending_reasons import PendingReasons
from tests.shared.quota.judging.judgement import Judgement
from tests.shared.quota.reference.usage_by_definition import asked, holds_back, waits_for, ways_to_run

COMING = frozenset({WaitReason.WAITING_FOR_EVICTIONS, WaitReason.ROOM_DELAYED})


def judge_waits(judgement: Judgement) -> Iterator[str]:
    """What could start and did not, in a cycle that started nothing; starts and evictions must have been judged before.

    After a start the next cycle follows at once, on numbers that the start has changed: what it leaves is judged then.
    """
    if judgement.plan.starts:
        return
    reasons = PendingReasons(judgement.plan)
    for leaf in judgement.snapshot.leaves.values():
        for work in leaf.pending if leaf.may_start else ():
            waiting = reasons.why(work)
            if waiting is None or work.key in judgement.claims:
                continue
            prefers_reclaim = waiting.reason in COMING and leaf.group.when_can_reclaim is WhenCanReclaim.RECLAIM
            if prefers_reclaim or waiting.reason is WaitReason.PODS_NOT_READY:
                continue
            for flavors in ways_to_run(judgement.snapshot, work):
                if _has_room(judgement, work, flavors) and _may_start(judgement, leaf, work, flavors):
                    yield f"{work.key} waits, and fits in {dict(flavors)}: {waiting.message}"


def _has_room(judgement: Judgement, work: Workload, flavors: Flavors) -> bool:
    """Whether it fits beside all that is there, and beside all that is promised room, wherever room is kept."""
    if not judgement.now_used.fits(work, flavors):
        return False
    if not judgement.with_claims(judgement.later_used).fits(work, flavors):
        return False
    gone = judgement.later_used.without(*(evict.workload for evict in judgement.plan.evictions))
    return all(judgement.with_promises(gone, kept).fits(work, flavors) for kept in judgement.ways_kept())


def _may_start(judgement: Judgement, leaf: LeafSnapshot, work: Workload, flavors: Flavors) -> bool:
    if any(judgement.beyond_min(leaf, work, flavors)) or is_behind_a_head(judgement, leaf, work, flavors):
        return False
    if judgement.is_entitled(leaf, work, flavors, judgement.kept):
        return True
    keys = asked(work, flavors).keys()
    own, book = work.group, judgement.with_claims(judgement.now_used)
    is_strict = leaf.reclaim.mode is ReclaimMode.STRICT
    if is_strict and any(book.used(own, key) >= book.numbers(own, key).runtime for key in keys):
        return False
    return not any(each.work.group == own and asked(each.work, each.flavors).keys() & keys for each in judgement.kept)


def is_behind_a_head(judgement: Judgement, leaf: LeafSnapshot, work: Workload, flavors: Flavors) -> bool:
    """Whether an earlier one that holds back others waits for one of those flavors."""
    return any(
        holds_back(judgement.snapshot, earlier) and waits_for(leaf, earlier) & flavor_names(flavors)
        for earlier in leaf.pending[: leaf.pending.index(work)]
    )
