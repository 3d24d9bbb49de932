"""Decides whether a claim still stands, and which claims are served now. docs/specification.md §7.11.

Claims are tried before all other workloads, oldest first, and their entitlement is not checked again. A claim needs its
room only in the current view: all claims together already fit the view after evictions.
"""

from dataclasses import dataclass

from shared.api.durations import later
from shared.quota.decide.decisions import Start, Tier, WaitReason
from shared.quota.decide.reclaim.standing_claims import StandingClaims
from shared.quota.decide.state.pods_ready import AdmissionBlock
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.decide.state.usage import quantities_of
from shared.quota.decide.waits import Waits
from shared.quota.measure.inputs.workload_set import queue_order
from shared.quota.measure.snapshot import LeafSnapshot, OpenClaim
from shared.quota.model.workload import PreemptorId, Workload, flavor_names


@dataclass(frozen=True, slots=True)
class ClaimSteps:
    """Reserves, serves and ends claims: in the usage, among the standing claims, and in what waits are for."""

    usage: RoundUsage
    claims: StandingClaims
    waits: Waits
    block: AdmissionBlock
    """The admission block, which each start extends."""

    def resolve(self) -> None:
        """Sort the snapshot's claims into those that stand, whose room is reserved, and those that end."""
        for _, claim in sorted(self.usage.snapshot.claims.items(), key=_oldest_first):
            reason = self._why_void(claim) or self._reserve(claim)
            if reason:
                self.claims.end(claim, reason)

    def _why_void(self, claim: OpenClaim) -> str | None:
        preemptor = claim.preemptor
        leaf = self.usage.snapshot.leaves.get(preemptor.group) if preemptor else None
        if preemptor is None or leaf is None:
            return "PreemptorGone"
        if not leaf.may_start:
            return "GroupStopped"
        ends = later(claim.made, leaf.reclaim.claim_timeout)
        if ends <= self.usage.now and not self._may_start_now(preemptor, claim):
            return "TimedOut"
        self.waits.wake(ends)
        if preemptor.blocked_flavors.intersection(flavor_names(claim.flavors)):
            return "FlavorRefused"
        return None if _may_take(leaf, preemptor, claim) else "NoLongerFits"

    def _may_start_now(self, preemptor: Workload, claim: OpenClaim) -> bool:
        """Return whether the room is there: a claim that ended right now would only send its victims round again."""
        leaf_usage = self.usage.leaf(preemptor.group)
        return not self.block.holds(leaf_usage) and self.usage.current.fits(
            leaf_usage.path, quantities_of(preemptor, claim.flavors)
        )

    def _reserve(self, claim: OpenClaim) -> str | None:
        """Reserve the claim's room after the evictions under way, or say why it can no longer have it."""
        preemptor = claim.preemptor
        if preemptor is None:
            return "PreemptorGone"
        leaf_usage = self.usage.leaf(preemptor.group)
        quantities = quantities_of(preemptor, claim.flavors)
        if not (self.usage.planned.fits(leaf_usage.path, quantities) and leaf_usage.may_hold(quantities, preemptor)):
            return "NoLongerFits"
        self.reinstate(claim)
        return None

    def serve(self) -> None:
        """Start every preemptor whose room is there by now."""
        for preemptor_id, claim in list(self.claims.open.items()):
            preemptor = claim.preemptor
            if preemptor is None:
                continue
            leaf_usage = self.usage.leaf(preemptor.group)
            quantities = quantities_of(preemptor, claim.flavors)
            if self.block.holds(leaf_usage) or not self.usage.current.fits(leaf_usage.path, quantities):
                continue
            self.withdraw(preemptor_id)
            tier = Tier.ENTITLED if leaf_usage.is_entitled(quantities, preemptor) else Tier.OPPORTUNISTIC
            self.usage.start(leaf_usage, Start(preemptor, claim.flavors, tier, on_claim=True))
            self.block.hold_others_back(leaf_usage, preemptor)

    def withdraw(self, preemptor_id: PreemptorId) -> OpenClaim:
        """Take an open claim out of the usage; the caller decides what happens to it."""
        claim = self.claims.open.pop(preemptor_id)
        preemptor = claim.preemptor
        if preemptor is not None:
            leaf_usage, quantities = self.usage.leaf(preemptor.group), quantities_of(preemptor, claim.flavors)
            self.usage.unclaim(leaf_usage, quantities, preemptor)
            self.waits.reasons.pop(preemptor.id, None)
        return claim

    def reinstate(self, claim: OpenClaim) -> None:
        """Let a claim stand: its room is reserved."""
        preemptor = claim.preemptor
        if preemptor is not None:
            leaf_usage, quantities = self.usage.leaf(preemptor.group), quantities_of(preemptor, claim.flavors)
            self.usage.claim(leaf_usage, quantities, preemptor)
            self.waits.reasons[preemptor.id] = WaitReason.WAITING_FOR_EVICTIONS
            self.claims.open[claim.preemptor_id] = claim


def _oldest_first(item: tuple[PreemptorId, OpenClaim]) -> tuple[object, ...]:
    preemptor_id, claim = item
    return (claim.made, queue_order(claim.preemptor) if claim.preemptor else (), preemptor_id)


def _may_take(leaf: LeafSnapshot, preemptor: Workload, claim: OpenClaim) -> bool:
    options = leaf.options(preemptor)
    return options.could_fit and all(
        claim.flavors.get(each.pod_set.name, {}).get(resource) in each.flavors
        for each in options.sets
        for resource in each.resources
    )
