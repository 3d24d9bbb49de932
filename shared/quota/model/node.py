"""What a node adds to the cluster's capacity: its allocatable, or what pods on it still use.

See docs/specification.md §3.6.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from shared.quota.model.tree import NOTHING, Amounts


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node as far as capacity goes. `allocatable` is in base units, rounded down."""

    name: str
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    allocatable: Amounts = field(default_factory=lambda: NOTHING)
    takes_pods: bool = True
    """Ready and schedulable."""
    not_ready_since: datetime | None = None
    """None: it is ready; then a node that takes no pods is cordoned or being deleted."""
    kept: Amounts = field(default_factory=lambda: NOTHING)
    """What pods on it still use while it takes no more of them."""

    @property
    def offer(self) -> Amounts:
        """What it adds to capacity."""
        return self.allocatable if self.takes_pods else self.kept

    def keeps_use_until(self, grace: timedelta) -> datetime | None:
        """Until when the use of pods on it counts, as capacity and as use; None: no end is known.

        A cordoned node offers nothing new and stops nothing; a node that is not ready might return within the grace
        period.
        """
        return None if self.not_ready_since is None else self.not_ready_since + grace

    def counts_use(self, now: datetime, grace: timedelta) -> bool:
        """Whether pods on it count at `now`; those on a lost node do not, and neither does the node."""
        until = self.keeps_use_until(grace)
        return self.takes_pods or until is None or now < until

    def keeping(self, use: Amounts) -> "ClusterNode":
        """The node when pods on it that count use that much; it matters only while it takes no pods."""
        return self if self.takes_pods or use == self.kept else replace(self, kept=use)
