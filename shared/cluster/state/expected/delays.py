"""Workloads that count as in use for a while longer, until a controller shows something or time is up. Pure."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, eq=False)
class Delay:
    """One delay of one workload; a later one of the same workload is another, with a time limit of its own."""

    key: str
    noted: datetime | None = None
    """What the controller had acknowledged when the delay began."""


@dataclass(slots=True)
class Delays:
    """At most one for each workload key."""

    new: list[Delay] = field(default_factory=list)
    """Those without a time limit yet; the executor removes them and sets one."""
    _by_key: dict[str, Delay] = field(default_factory=dict)

    def find(self, key: str) -> Delay | None:
        """Return the delay of this workload that has not ended."""
        return self._by_key.get(key)

    def begin(self, key: str, noted: datetime | None = None) -> None:
        """Begin one, unless the workload has one."""
        if key not in self._by_key:
            self._by_key[key] = delay = Delay(key, noted)
            self.new.append(delay)

    def end(self, key: str) -> None:
        """End the workload's delay, if it has one."""
        if (delay := self._by_key.pop(key, None)) in self.new:
            self.new.remove(delay)

    def is_under_way(self, delay: Delay) -> bool:
        """Return whether this very delay has not ended."""
        return self._by_key.get(delay.key) is delay
