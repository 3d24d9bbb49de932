"""Whether a claim still stands, and which claims are served now. docs/specification.md §7.11.

Claims are tried before all other work, oldest first, and their entitlement is not judged again. A claim needs its room
only in what is present: all claims together already fit what will be after the evictions under way.
"""

from shared.quota.decide.decisions import ClaimEnd, Start, WaitReason
from shared.quota.decide.state.cycle_state import CycleState
from shared.quota.decide.state.pods_ready import hold_others_back
from shared.quota.decide.state.usage import quantities_of
from shared.quota.measure.inputs.workload_set import queue_order
from shared.quota.measure.snapshot import LeafSnapshot, OpenClaim
from shared.quota.model.workload import PreemptorId, Workload


def resolve_claims(cycle: CycleState) -> None:
    """Sort the snapshot's claims into those that stand, whose room is reserved, and those that end."""
    for _, claim in sorted(cycle.snapshot.claims.items(), key=_oldest_first):
        reason = _why_void(cycle, claim) or _reserve(cycle, claim)
        if reason:
            end_claim(cycle, claim, reason)


def _oldest_first(item: tuple[PreemptorId, OpenClaim]) -> tuple[object, ...]:
    preemptor_id, claim = item
    return (claim.made, queue_order(claim.preemptor) if claim.preemptor else (), preemptor_id)


def _why_void(cycle: CycleState, claim: OpenClaim) -> str | None:
    preemptor = claim.preemptor
    leaf = cycle.snapshot.leaves.get(preemptor.group) if preemptor else None
    if preemptor is None or leaf is None:
        return "PreemptorGone"
    if not leaf.may_start:
        return "GroupStopped"
    ends = claim.made + leaf.reclaim.claim_timeout
    if ends <= cycle.now and not _may_start_now(cycle, preemptor, claim):
        return "TimedOut"
    cycle.wake(ends)
    if preemptor.blocked_flavors.intersection(claim.flavors.values()):
        return "FlavorRefused"
    return None if _may_take(leaf, preemptor, claim) else "NoLongerFits"


def _may_start_now(cycle: CycleState, preemptor: Workload, claim: OpenClaim) -> bool:
    """Whether the room is there: a claim that ended in this very moment would only send its victims round again."""
    leaf_usage = cycle.leaf_usage(preemptor.group)
    return not cycle.is_held_back(leaf_usage) and cycle.current.fits(
        leaf_usage.path, quantities_of(preemptor, claim.flavors)
    )


def _may_take(leaf: LeafSnapshot, preemptor: Workload, claim: OpenClaim) -> bool:
    options = leaf.options(preemptor)
    return options.could_fit and all(
        claim.flavors.get(resource) in each.flavors for each in options.sets for resource in each.resources
    )


def _reserve(cycle: CycleState, claim: OpenClaim) -> str | None:
    """Reserve the claim's room after the evictions under way, or say why it can no longer have it."""
    preemptor = claim.preemptor
    if preemptor is None:
        return "PreemptorGone"
    leaf_usage = cycle.leaf_usage(preemptor.group)
    quantities = quantities_of(preemptor, claim.flavors)
    if not (cycle.planned.fits(leaf_usage.path, quantities) and leaf_usage.may_hold(quantities, preemptor)):
        return "NoLongerFits"
    reinstate(cycle, claim)
    return None


def serve_claims(cycle: CycleState) -> None:
    """Start every preemptor whose room is there by now."""
    for preemptor_id, claim in list(cycle.claims.items()):
        preemptor = claim.preemptor
        if preemptor is None:
            continue
        leaf_usage = cycle.leaf_usage(preemptor.group)
        quantities = quantities_of(preemptor, claim.flavors)
        if cycle.is_held_back(leaf_usage) or not cycle.current.fits(leaf_usage.path, quantities):
            continue
        withdraw(cycle, preemptor_id)
        tier = cycle.tier(leaf_usage, quantities, preemptor)
        cycle.start(leaf_usage, Start(preemptor, claim.flavors, tier, on_claim=True))
        hold_others_back(cycle, leaf_usage, preemptor)


def withdraw(cycle: CycleState, preemptor_id: PreemptorId) -> OpenClaim:
    """Take an open claim out of the usage; the caller decides what happens to it."""
    claim = cycle.claims.pop(preemptor_id)
    if claim.preemptor is not None:
        leaf_usage, quantities = cycle.leaf_usage(claim.preemptor.group), quantities_of(claim.preemptor, claim.flavors)
        cycle.release(leaf_usage, quantities, claim.preemptor)
        cycle.after_evictions.remove(leaf_usage.path, quantities)
        cycle.wait_reasons.pop(claim.preemptor.id, None)
    return claim


def reinstate(cycle: CycleState, claim: OpenClaim) -> None:
    """Let a claim stand: its room is reserved."""
    if claim.preemptor is not None:
        leaf_usage, quantities = cycle.leaf_usage(claim.preemptor.group), quantities_of(claim.preemptor, claim.flavors)
        cycle.reserve(leaf_usage, quantities, claim.preemptor)
        cycle.after_evictions.add(leaf_usage.path, quantities)
        cycle.wait_reasons[claim.preemptor.id] = WaitReason.WAITING_FOR_EVICTIONS
        cycle.claims[claim.preemptor_id] = claim


def end_claim(cycle: CycleState, claim: OpenClaim, reason: str) -> None:
    """Decide that this claim ends on all victims that carry it."""
    cycle.claims_ended.extend(ClaimEnd(victim, reason) for victim in claim.victims)
