"""The claims that stand in a round, and those that it ends."""

from shared.quota.decide.decisions import ClaimEnd
from shared.quota.measure.snapshot import OpenClaim
from shared.quota.model.workload import PreemptorId


class StandingClaims:
    """Valid claims that are not served yet, and the ends of those that are not valid any more."""

    __slots__ = ("ended", "open")

    def __init__(self) -> None:
        self.open: dict[PreemptorId, OpenClaim] = {}
        self.ended: list[ClaimEnd] = []

    def end(self, claim: OpenClaim, reason: str) -> None:
        """Decide that this claim ends on all victims that carry it."""
        self.ended.extend(ClaimEnd(victim, reason) for victim in claim.victims)
