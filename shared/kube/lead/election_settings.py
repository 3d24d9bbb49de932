"""How one candidate takes part in an election: which Lease, under which name, and how fast."""

from datetime import timedelta

import msgspec


class ElectionSettings(msgspec.Struct, frozen=True, rename="camel"):
    """`renew_deadline` must leave time below `lease_duration` for the leader's work to stop."""

    namespace: str
    name: str
    identity: str
    lease_duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry_period: timedelta = timedelta(seconds=2)

    def __post_init__(self) -> None:
        if not self.lease_duration > self.renew_deadline > self.retry_period > timedelta():
            raise ValueError(
                f"leaseDuration {self.lease_duration.total_seconds():g}s must exceed "
                f"renewDeadline {self.renew_deadline.total_seconds():g}s, and that "
                f"retryPeriod {self.retry_period.total_seconds():g}s"
            )
        if self.lease_duration < timedelta(seconds=1):
            raise ValueError("leaseDuration must be at least 1s: a Lease counts whole seconds")
