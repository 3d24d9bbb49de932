"""Whether a claim still stands, and which claims are served now. DESIGN section 7, "An eviction is a claim".

Claims are tried before all other work, oldest first, and their entitlement is not judged again. A claim needs its room
only in what is present: all claims together already fit what will be after the evictions under way.
"""

from shared.quota.decide.cycle import Cycle
from shared.quota.decide.decisions import ClaimEnd, Start, WaitReason
from shared.quota.decide.room import ask_of
from shared.quota.decide.startup import note_unready
from shared.quota.measure.buckets import place_in_line
from shared.quota.measure.snapshot import HeldClaim, LeafState
from shared.quota.model.workload import AskerId, Workload


def settle_claims(cycle: Cycle) -> None:
    """Sort the snapshot's claims into those that stand, which are promised their room, and those that end."""
    for _, claim in sorted(cycle.snapshot.claims.items(), key=_oldest_first):
        reason = _why_void(cycle, claim) or _promise(cycle, claim)
        if reason:
            end_claim(cycle, claim, reason)


def _oldest_first(item: tuple[AskerId, HeldClaim]) -> tuple[object, ...]:
    asker_id, claim = item
    return (claim.made, place_in_line(claim.asker) if claim.asker else (), asker_id)


def _why_void(cycle: Cycle, claim: HeldClaim) -> str | None:
    asker = claim.asker
    leaf = cycle.snapshot.leaves.get(asker.group) if asker else None
    if asker is None or leaf is None:
        return "AskerGone"
    if not leaf.may_start:
        return "GroupStopped"
    ends = claim.made + leaf.reclaim.claim_timeout
    if ends <= cycle.now and not _may_start_now(cycle, asker, claim):
        return "TimedOut"
    cycle.wake(ends)
    if asker.blocked_flavors.intersection(claim.flavors.values()):
        return "FlavorRefused"
    return None if _may_take(leaf, asker, claim) else "NoLongerFits"


def _may_start_now(cycle: Cycle, asker: Workload, claim: HeldClaim) -> bool:
    """Whether the room is there: a claim that ended in this very moment would only send its victims round again."""
    account = cycle.account(asker.group)
    return not cycle.is_held_back(account) and cycle.present.fits(account.path, ask_of(asker, claim.flavors))


def _may_take(leaf: LeafState, asker: Workload, claim: HeldClaim) -> bool:
    options = leaf.options(asker)
    return options.could_fit and all(
        claim.flavors.get(resource) in each.flavors for each in options.sets for resource in each.resources
    )


def _promise(cycle: Cycle, claim: HeldClaim) -> str | None:
    """Promise the claim its room after the evictions under way, or say why it can no longer have it."""
    asker = claim.asker
    if asker is None:
        return "AskerGone"
    account = cycle.account(asker.group)
    ask = ask_of(asker, claim.flavors)
    if not (cycle.after.fits(account.path, ask) and account.may_hold(ask, asker)):
        return "NoLongerFits"
    reinstate(cycle, claim)
    return None


def serve_claims(cycle: Cycle) -> None:
    """Start every asker whose room is there by now."""
    for asker_id, claim in list(cycle.claims.items()):
        asker = claim.asker
        if asker is None:
            continue
        account = cycle.account(asker.group)
        ask = ask_of(asker, claim.flavors)
        if cycle.is_held_back(account) or not cycle.present.fits(account.path, ask):
            continue
        withdraw(cycle, asker_id)
        tier = cycle.tier(account, ask, asker)
        cycle.start(account, Start(asker, claim.flavors, tier, on_claim=True))
        note_unready(cycle, account, asker)


def withdraw(cycle: Cycle, asker_id: AskerId) -> HeldClaim:
    """Take a standing claim out of the books; the caller says what becomes of it."""
    claim = cycle.claims.pop(asker_id)
    if claim.asker is not None:
        account, ask = cycle.account(claim.asker.group), ask_of(claim.asker, claim.flavors)
        cycle.forget(account, ask, claim.asker)
        cycle.soon.take(account.path, ask)
        cycle.notes.pop(claim.asker.id, None)
    return claim


def reinstate(cycle: Cycle, claim: HeldClaim) -> None:
    """Let a claim stand: its room is promised."""
    if claim.asker is not None:
        account, ask = cycle.account(claim.asker.group), ask_of(claim.asker, claim.flavors)
        cycle.promise(account, ask, claim.asker)
        cycle.soon.add(account.path, ask)
        cycle.notes[claim.asker.id] = WaitReason.WAITING_FOR_EVICTIONS
        cycle.claims[claim.asker_id] = claim


def end_claim(cycle: Cycle, claim: HeldClaim, reason: str) -> None:
    """Decide that this claim ends on all victims that carry it."""
    cycle.claims_ended.extend(ClaimEnd(victim, reason) for victim in claim.victims)
