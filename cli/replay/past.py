"""What a log says of the past, whatever wrote it: workloads that came, when they started and ended, and edits."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from shared.quota.model.workload import Workload
from shared.quota.outlook.simulate.reactions import AT_ONCE, Reactions
from shared.quota.outlook.simulate.timeline import TimedEdit

_LISTED: Final = 5


@dataclass(frozen=True, slots=True)
class PastWorkload:
    """One workload of a log, as it came: waiting, or running if it was there when the log begins."""

    workload: Workload
    run_time: timedelta | None
    """How long its last run took; None: it did not end in the log."""
    starts: tuple[datetime, ...] = ()
    evictions: tuple[datetime, ...] = ()
    left: datetime | None = None
    """When its owner took it away before it had ended; None: never."""
    seen: datetime | None = None
    """When it came, if that is known better than by `workload.created`, which can be a whole second."""
    known: datetime | None = None
    """When a decision first knew of it; None: when it came."""
    ends_evicted: bool = False
    """Whether its last run ended though it had just been evicted: its pods were through before they were stopped."""

    @property
    def came(self) -> datetime:
        """When it came."""
        return self.seen or self.workload.created

    @property
    def decided(self) -> datetime:
        """When a decision first knew of it."""
        return self.known or self.came


@dataclass(slots=True)
class UnreadLines:
    """Lines of a log that could not be read: how many, and the first of them."""

    number: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, line: int, reason: str) -> None:
        """Count one more."""
        self.number += 1
        if len(self.first) < _LISTED:
            self.first.append(f"line {line}: {reason}")

    def lines(self) -> list[str]:
        """Return sentences about them; none if all were read."""
        if not self.number:
            return []
        more = [f"and {self.number - len(self.first)} more"] if self.number > len(self.first) else []
        return [f"{self.number} line{'' if self.number == 1 else 's'} left out", *self.first, *more]


@dataclass(frozen=True, slots=True)
class PastLog:
    """A log from its first moment to its last, in the order of arrivals."""

    begin: datetime
    end: datetime
    workloads: tuple[PastWorkload, ...]
    edits: tuple[TimedEdit, ...] = ()
    unread: UnreadLines = field(default_factory=UnreadLines)
    stopping: Reactions = AT_ONCE
    """How long after an eviction the last pod ended."""
    answering: Reactions = AT_ONCE
    """How long after a start the workload's controller had noted it."""
    decisions: Sequence[datetime] | None = None
    """When the leader decided, as far as a log of Quotree says it; None: it is another log."""
