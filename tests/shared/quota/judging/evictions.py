"""Whether each eviction of a cycle is justified: whom it is for, who owes, and that nobody stops for nothing.

Brute force where the rules say "never one more than needed": fitting is monotone, so a smaller victim set exists
exactly if some single victim can be put back.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from shared.quota.decide.decisions import Evict, EvictionRule, Tier
from shared.quota.model.workload import Workload
from tests.shared.quota.judging.judgement import ENTITLED, Judgement, Promise
from tests.shared.quota.judging.plan_order import judge_plan_order
from tests.shared.quota.reference.usage_by_definition import Book, asked, ways_to_run

FOR_AN_ASKER = frozenset({EvictionRule.RECLAIM, EvictionRule.PREEMPTION, EvictionRule.SWAP})
OF_ITSELF = frozenset(
    {EvictionRule.STARTUP_TIMEOUT, EvictionRule.RECOVERY_TIMEOUT, EvictionRule.STOP_POLICY, EvictionRule.RUN_TIME}
)
OF_BORROWED_WORK = FOR_AN_ASKER | {EvictionRule.STRICT}


def judge_evictions(judgement: Judgement) -> Iterator[str]:
    """What is wrong with the evictions; the starts must have been judged before."""
    before = judgement.with_claims(judgement.later_used)
    gone = judgement.later_used.without(*(evict.workload for evict in judgement.plan.evictions))
    asking: dict[str, EvictionRule] = {}
    for evict in judgement.plan.evictions:
        if evict.claim is not None and evict.claim.preemptor not in asking:
            asking[evict.claim.preemptor] = evict.rule
            yield from (f"claim of {evict.claim.preemptor}: {found}" for found in _of_preemptor(judgement, evict))
    yield from _of_incomplete_plans(judgement, gone, asking)
    judgement.kept = list(judgement.room_kept())
    for evict in judgement.plan.evictions:
        found = _of_victim(judgement, evict, before)
        yield from (f"eviction of {evict.workload.key} ({evict.rule}): {each}" for each in found)
    yield from _of_spare_victims(judgement, gone, asking)
    yield from _of_limits(judgement, gone)
    yield from _of_strict(judgement, gone)
    yield from _of_run_times(judgement)
    yield from judge_plan_order(judgement)


def _of_incomplete_plans(judgement: Judgement, gone: Book, asking: Iterable[str]) -> Iterator[str]:
    claimed = judgement.with_claims(gone)
    for claim in [judgement.claims[key] for key in asking if key in judgement.claims]:
        lacks = claimed.lack(claim.work.group, asked(claim.work, claim.flavors))
        yield from (f"claim of {claim.work.key}: its plan is not complete: {lack}" for lack in lacks)


def _of_preemptor(judgement: Judgement, evict: Evict) -> Iterator[str]:
    assert evict.claim is not None
    preemptor = judgement.preemptor_of(evict)
    if preemptor is None or not judgement.snapshot.leaves[preemptor.group].may_start:
        yield "nobody asks"
        return
    leaf = judgement.snapshot.leaves[preemptor.group]
    if any(each.work.id == preemptor.id for each in judgement.started):
        yield "it starts in this cycle"
    if preemptor.key in judgement.claims:
        yield "it has a claim already"
    if dict(evict.claim.flavors) not in ways_to_run(judgement.snapshot, preemptor):
        yield "it cannot take these flavors"
    if evict.rule in ENTITLED and not judgement.was_entitled(leaf, preemptor, evict.claim.flavors):
        yield "it is not entitled"
    yield from judgement.beyond_min(leaf, preemptor, evict.claim.flavors)
    judgement.claims[preemptor.key] = Promise(preemptor, evict.claim.flavors)
    victims = [
        each for each in judgement.plan.evictions if each.claim and each.claim.preemptor_id == preemptor.preemptor_id
    ]
    for each in victims:
        own = each.workload.group == preemptor.group
        if own and each.rule in FOR_AN_ASKER:
            lower = each.workload.priority < preemptor.priority and leaf.group.preemption.value == "LowerPriority"
            if not lower and each.rule is not EvictionRule.RECLAIM:
                yield f"{each.workload.key} of its own group is not of lower priority"
        elif each.rule in (EvictionRule.SWAP, EvictionRule.PREEMPTION):
            yield f"{each.workload.key} is of another group"


def _of_victim(judgement: Judgement, evict: Evict, before: Book) -> Iterator[str]:
    victim, leaf = evict.workload, judgement.snapshot.leaves[evict.workload.group]
    if victim not in leaf.admitted or victim.admission is None:
        yield "it is not running"
        return
    if not victim.admission.answered:
        yield "its start has not been answered"
    if evict.rule in OF_ITSELF:
        return
    now = judgement.plan.now
    if not victim.preemptible:
        yield "it is not preemptible"
    if evict.rule in OF_BORROWED_WORK and victim.admission.since + leaf.reclaim.exempt_after_start > now:
        yield "it has not run for exemptAfterStart"
    if leaf.reclaim.notice and (victim.notice is None or victim.notice + leaf.reclaim.notice > now):
        yield f"told at {victim.notice}, not {leaf.reclaim.notice} before"
    if evict.rule is EvictionRule.CAPACITY and victim.admission.ready:
        yield "all its pods have a place"
    if evict.rule in FOR_AN_ASKER and evict.claim is None:
        yield "for nobody"
    if evict.rule is EvictionRule.RECLAIM:
        yield from _of_debt(judgement, evict, before)


def _of_debt(judgement: Judgement, evict: Evict, before: Book) -> Iterator[str]:
    """A victim's leaf owes: on one key it is over at every level below where its path meets the preemptor's.

    What is promised to the work of those groups counts as theirs.
    """
    victim, preemptor = evict.workload, judgement.preemptor_of(evict)
    if preemptor is None or preemptor.group == victim.group or victim.admission is None:
        return
    tree = judgement.snapshot.world.tree
    met = next(name for name in tree.path(victim.group) if name in tree.path(preemptor.group))
    below = [name for name in tree.path(victim.group) if name not in tree.path(met)]
    book = before.copy()
    for each in (*judgement.promises_made(), *judgement.kept):
        if any(name in below for name in tree.path(each.work.group)):
            book.add(each.work, each.flavors)
    owed = [
        key
        for key in asked(victim, victim.admission.flavors)
        if all(book.charge(name, key) > book.numbers(name, key).runtime for name in below)
    ]
    if not owed:
        yield f"its leaf is not over its runtime on any key at all of {below}"
    since = [judgement.plan.over_since.get((victim.group, key)) for key in owed]
    grace = judgement.snapshot.leaves[victim.group].reclaim.grace_period
    if owed and grace and not any(start is not None and start + grace <= judgement.plan.now for start in since):
        yield f"its leaf is over since {since}, not for {grace}"


def _of_spare_victims(judgement: Judgement, gone: Book, asking: Mapping[str, EvictionRule]) -> Iterator[str]:
    """Victims that could have gone on running: with them put back, every preemptor of this cycle still has its room."""
    for evict in judgement.plan.evictions:
        victim = evict.workload
        if evict.rule not in FOR_AN_ASKER or victim.admission is None:
            continue
        if not any(_frees_room(judgement, evict, gone, kept) for kept in judgement.ways_kept()):
            yield f"eviction of {victim.key} ({evict.rule}): all preemptors {list(asking)} have their room without it"


def _frees_room(judgement: Judgement, evict: Evict, gone: Book, kept: Sequence[Promise]) -> bool:
    """Whether some preemptor lacks its room with the victim put back."""
    victim = evict.workload
    assert victim.admission is not None
    back = judgement.with_promises(gone, kept).add(victim, victim.admission.flavors)
    of_preemptors = (
        any(back.lack(promise.work.group, asked(promise.work, promise.flavors)))
        for promise in (*judgement.claims.values(), *kept)
    )
    return any(of_preemptors) or _is_above(judgement, evict, back)


def _is_above(judgement: Judgement, evict: Evict, back: Book) -> bool:
    """Whether with the victim put back its path is above a bound, or its leaf above what a swap leaves it."""
    victim = evict.workload
    assert victim.admission is not None
    is_above = any(back.lack(victim.group, asked(victim, victim.admission.flavors)))
    return is_above or _swap_needs(judgement, evict, back)


def _swap_needs(judgement: Judgement, evict: Evict, back: Book) -> bool:
    """Whether a swap in the victim's leaf needs it gone, so that the leaf uses no more than it would without the swap.

    What others take from the leaf in the same cycle is gone on both sides, also where they take more than they need:
    the one eviction more that whole jobs may cost.
    """
    leaf = evict.workload.group
    swaps = [each.claim for each in judgement.plan.evictions if each.rule is EvictionRule.SWAP and each.claim]
    for claim in swaps:
        preemptor = judgement.claims.get(claim.preemptor)
        if preemptor is None or preemptor.work.group != leaf:
            continue
        others = [each.workload for each in judgement.plan.evictions if each.claim != claim]
        rest = judgement.with_promises(judgement.later_used.without(*others))
        keys = asked(preemptor.work, preemptor.flavors)
        if any(back.used(leaf, key) > rest.used(leaf, key) - amount for key, amount in keys.items()):
            return True
    return False


def _of_limits(judgement: Judgement, gone: Book) -> Iterator[str]:
    """Evictions for a ceiling or lost capacity: with the victim put back, its path is above a bound again."""
    for evict in judgement.plan.evictions:
        victim = evict.workload
        if evict.rule not in (EvictionRule.CEILING, EvictionRule.CAPACITY) or victim.admission is None:
            continue
        ways = (
            judgement.with_promises(gone, kept).add(victim, victim.admission.flavors) for kept in judgement.ways_kept()
        )
        if not any(_is_above(judgement, evict, back) for back in ways):
            yield f"eviction of {victim.key} ({evict.rule}): no limit is broken with it put back"


def _of_strict(judgement: Judgement, gone: Book) -> Iterator[str]:
    """Strict recycling takes from leaves over their runtime only, and leaves none below one that it was over.

    What borrows on the last numbers starts after it, so it does not count.
    Not told where the leaf's own preemptors had victims too: the plan does not say which were filled back.
    """
    others = [evict.workload for evict in judgement.plan.evictions if evict.rule is not EvictionRule.STRICT]
    before, after = judgement.with_promises(judgement.later_used.without(*others)), judgement.with_promises(gone)
    measured = max(judgement.plan.measured_after, default=0)
    for start in judgement.plan.starts[measured:]:
        if start.tier is Tier.OPPORTUNISTIC and not start.on_claim:
            before.add(start.workload, start.flavors, -1)
            after.add(start.workload, start.flavors, -1)
    for evict in judgement.plan.evictions:
        victim = evict.workload
        if evict.rule is not EvictionRule.STRICT or victim.admission is None:
            continue
        numbers = {key: before.numbers(victim.group, key) for key in before.snapshot.numbers[victim.group]}
        kept = {key: own.runtime + own.spared for key, own in numbers.items()}
        over = {key: runtime for key, runtime in kept.items() if before.used(victim.group, key) > runtime}
        if not over.keys() & asked(victim, victim.admission.flavors).keys():
            yield f"eviction of {victim.key} (Strict): its leaf is over its runtime only in {list(over)}"
        promised = any(each.work.group == victim.group for each in (*judgement.claims.values(), *judgement.kept))
        for key, runtime in () if promised else over.items():
            if after.used(victim.group, key) < runtime:
                yield f"eviction of {victim.key} (Strict): its leaf ends below its runtime of {key}"


def _of_run_times(judgement: Judgement) -> Iterator[str]:
    """What has run for as long as it may, and has known that for long enough, goes for good; nothing else does so."""
    gone = {each.workload.id: each for each in judgement.plan.evictions}
    noticed = {each.workload.id for each in judgement.plan.notices}
    for leaf in judgement.snapshot.leaves.values():
        for work in leaf.admitted:
            evict, limit = gone.get(work.id), _time_left_to(judgement, work)
            if evict is not None and evict.rule is EvictionRule.RUN_TIME:
                yield from (f"{work.key} (RunTime): {found}" for found in _of_end(judgement, evict, limit))
                continue
            known = min(leaf.reclaim.notice, limit) if limit is not None else None
            if limit is None or known is None or work.admission is None or evict is not None:
                continue
            has_run = judgement.plan.now - work.admission.since
            if known and has_run >= limit - known and work.notice is None and work.id not in noticed:
                yield f"{work.key} runs for {has_run} of {limit} and is not told"
            knows = not known or (work.notice is not None and judgement.plan.now >= work.notice + known)
            if has_run >= limit and knows and work.is_answered:
                yield f"{work.key} has run for {has_run} and goes on beyond {limit}"


def _time_left_to(judgement: Judgement, work: Workload) -> timedelta | None:
    """How long it may run: the least that a group on its path, or itself, says."""
    tree = judgement.snapshot.world.tree
    limits = (*(tree[name].max_run_time for name in tree.path(work.group)), work.max_run_time)
    return min((each for each in limits if each is not None), default=None)


def _of_end(judgement: Judgement, evict: Evict, limit: timedelta | None) -> Iterator[str]:
    work, leaf = evict.workload, judgement.snapshot.leaves[evict.workload.group]
    if limit is None or work.admission is None or judgement.plan.now - work.admission.since < limit:
        yield f"it has time left of {limit}"
        return
    known = min(leaf.reclaim.notice, limit)
    if known and (work.notice is None or work.notice + known > judgement.plan.now):
        yield f"told at {work.notice}, not {known} before"
    if not evict.requeue.deactivated:
        yield "it would start again by itself"
