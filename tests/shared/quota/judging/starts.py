"""Whether each start of a cycle is legal: considered, in flavors it can take, with room now and later, of its tier."""

from collections.abc import Iterator

from shared.quota.decide.decisions import Start, Tier
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.workload import Flavors, Workload, flavor_names
from tests.shared.quota.judging.judgement import Judgement, Promise
from tests.shared.quota.reference.usage_by_definition import asked, holds_back, waits_for, ways_to_run


def judge_starts(judgement: Judgement) -> Iterator[str]:
    """What is wrong with the starts; the books of the judgement go on with each."""
    judgement.kept = list(judgement.room_kept())
    for number, start in enumerate(judgement.plan.starts):
        if number in judgement.plan.measured_after:
            judgement.measure_again()
        judgement.judged = number
        for found in _of_start(judgement, start):
            yield f"start of {start.workload.key} in {dict(start.flavors)} ({start.tier}): {found}"
    if len(judgement.plan.starts) in judgement.plan.measured_after:
        judgement.measure_again()


def _of_start(judgement: Judgement, start: Start) -> Iterator[str]:
    work, flavors = start.workload, start.flavors
    leaf = judgement.snapshot.leaves[work.group]
    if work not in leaf.pending or not leaf.may_start or any(work.id == each.work.id for each in judgement.started):
        yield "it must not be considered, or is started twice"
        return
    if dict(flavors) not in ways_to_run(judgement.snapshot, work):
        yield "it cannot take these flavors"
    claim = judgement.claims.pop(work.key, None)
    if claim is None or dict(claim.flavors) != dict(flavors):
        yield from _of_tier(judgement, leaf, start)
        yield from _of_those_before(judgement, leaf, start)
    yield from (
        f"no room now: {lack}"
        for lack in judgement.now_used.copy().add(work, flavors).lack(leaf.path[0], asked(work, flavors))
    )
    yield from _of_claimed_room(judgement, work, flavors)
    yield from judgement.beyond_min(leaf, work, flavors)
    judgement.now_used.add(work, flavors)
    judgement.later_used.add(work, flavors)
    judgement.started.append(Promise(work, flavors, borrows=start.tier is Tier.OPPORTUNISTIC))


def _of_tier(judgement: Judgement, leaf: LeafSnapshot, start: Start) -> Iterator[str]:
    """Whether the tier is right; where flavors may be chosen, room kept in one may hide an entitlement."""
    has_choice = any(len(ways_to_run(judgement.snapshot, each)) > 1 for each in leaf.pending)
    tried = [
        promise
        for promise in (*judgement.promises_made(), *(() if has_choice else _still_kept(judgement, leaf)))
        if start.tier is Tier.OPPORTUNISTIC or judgement.is_tried_before(promise.work, start.workload)
    ]
    if start.tier is Tier.OPPORTUNISTIC:
        tried += judgement.to_come()
    elif judgement.judged < max(judgement.plan.measured_after, default=0):
        tried = []  # What the plan promises is promised on its last numbers; of earlier rounds only starts are known.
    entitled = judgement.is_entitled(leaf, start.workload, start.flavors, tried)
    if entitled != (start.tier is Tier.ENTITLED) and not (entitled and has_choice):
        yield f"it is {'entitled' if entitled else 'not entitled'}"
    if start.tier is Tier.OPPORTUNISTIC and leaf.reclaim.mode is ReclaimMode.STRICT:
        for key in asked(start.workload, start.flavors):
            if judgement.now_used.used(leaf.path[0], key) >= judgement.now_used.numbers(leaf.path[0], key).runtime:
                yield f"Strict, and its leaf already uses its runtime of {key}"


def _still_kept(judgement: Judgement, leaf: LeafSnapshot) -> list[Promise]:
    """What was kept for work of that leaf, less what the starts so far have taken its entitlement from."""
    own = [promise for promise in judgement.kept if promise.work.group == leaf.path[0]]
    return [promise for promise in own if judgement.was_entitled(leaf, promise.work, promise.flavors)]


def _of_those_before(judgement: Judgement, leaf: LeafSnapshot, start: Start) -> Iterator[str]:
    """Whether it passes one that holds back others and waits for one of its flavors."""
    started = {each.workload.id for each in judgement.plan.starts}
    for earlier in leaf.pending[: leaf.pending.index(start.workload)]:
        if earlier.id in started or not holds_back(judgement.snapshot, earlier):
            continue
        claim = judgement.claims.get(earlier.key)
        wanted = waits_for(leaf, earlier) if claim is None else flavor_names(claim.flavors)
        if wanted & flavor_names(start.flavors):
            yield f"{earlier.key} is before it and holds it back"


def _of_claimed_room(judgement: Judgement, work: Workload, flavors: Flavors) -> Iterator[str]:
    before = judgement.with_claims(judgement.later_used, but=work)
    keys = asked(work, flavors)
    if not any(before.lack(work.group, keys)):
        yield from (f"it takes claimed room: {lack}" for lack in before.add(work, flavors).lack(work.group, keys))
