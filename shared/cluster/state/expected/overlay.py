"""What is laid over what the objects of workloads say, until the watches show it or a time limit passes. Pure."""

from shared.cluster.state.expected.assumptions import Assumptions
from shared.cluster.state.expected.transitions import EarlyStops, RevokedStarts
from shared.cluster.state.expected.unwritten import UnwrittenAnnotations
from shared.cluster.state.observed.terminating import OrphanedClaims


class Overlay:
    """The parts that are laid over, by workload key."""

    def __init__(self) -> None:
        self.assumptions = Assumptions()
        """Workloads as writes under way will change them."""
        self.unwritten = UnwrittenAnnotations()
        """Annotations that their objects have no space for."""
        self.revoked_starts = RevokedStarts()
        """Owners of pods suspended before their controllers had noted their start."""
        self.early_stops = EarlyStops()
        """Objects of governed kinds stopped before all their pods were seen."""
        self.orphaned = OrphanedClaims()
        """Claims of deleted victims."""

    def forget(self, key: str) -> None:
        """Drop what is laid over a workload that is gone; an assumption ends by what is observed of its objects."""
        self.unwritten.drop(key)
        self.revoked_starts.forget(key)
        self.early_stops.forget(key)
