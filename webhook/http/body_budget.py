"""A budget of bytes for all request bodies together, so that connections cannot exhaust the memory.

A body counts from its first byte until its response is written. When the bodies exceed the budget, requests whose body
is still arriving are dropped: first those on connections with the fewest answered requests, among these the largest.
The connections of the API server have answered requests; a connection that never completes a body has none.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

MAX_IN_FLIGHT: Final = 32 << 20
"""Far below the memory limit of the chart (512 Mi): a body is held twice while it is put together and decoded."""


@dataclass(slots=True, eq=False)
class BodyInFlight:
    """One request. `served`: how many requests its connection has answered; `drop` closes the connection."""

    served: int
    drop: Callable[[], None]
    size: int = 0
    is_complete: bool = False
    is_dropped: bool = False


@dataclass(slots=True)
class BodyBudget:
    """All requests whose bodies are in memory, `total` bytes together."""

    limit: int = MAX_IN_FLIGHT
    total: int = 0
    _bodies: dict[BodyInFlight, None] = field(default_factory=dict)

    def begin(self, served: int, drop: Callable[[], None]) -> BodyInFlight:
        """Register a new request."""
        body = BodyInFlight(served, drop)
        self._bodies[body] = None
        return body

    def grow(self, body: BodyInFlight, size: int) -> None:
        """Count more bytes of this body; while the budget is exceeded, drop other requests or this one."""
        body.size += size
        self.total += size
        while self.total > self.limit:
            arriving = [each for each in self._bodies if not each.is_complete]
            if not arriving:
                return
            dropped = min(arriving, key=lambda each: (each.served, -each.size))
            dropped.is_dropped = True
            self.end(dropped)
            if dropped is body:
                return
            dropped.drop()

    def end(self, body: BodyInFlight) -> None:
        """Stop counting the request."""
        if body in self._bodies:
            del self._bodies[body]
            self.total -= body.size
