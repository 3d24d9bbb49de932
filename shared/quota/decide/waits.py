"""What a round says of workloads that wait: why it passed over them, and when time alone may change that."""

from datetime import datetime

from shared.quota.decide.decisions import WaitReason
from shared.quota.model.workload import WorkloadId


class Waits:
    """Reasons that the numbers alone do not show, and moments for the next plan."""

    __slots__ = ("_moments", "_now", "reasons")

    def __init__(self, now: datetime) -> None:
        self.reasons: dict[WorkloadId, WaitReason] = {}
        self._now = now
        self._moments: list[datetime] = []

    def wake(self, *moments: datetime) -> None:
        """Plan again at these moments, because time alone may change the decision; those in the past are ignored."""
        self._moments.extend(each for each in moments if each > self._now)

    @property
    def wake_at(self) -> datetime | None:
        """The nearest moment passed to `wake`."""
        return min(self._moments, default=None)
