"""A budget of bytes for the bodies of all requests together, so that connections cannot use up the memory.

A body counts from its first byte until its answer is written. When the bodies together exceed the budget, requests
whose body is still arriving are dropped: those of the connections that were served least first, the largest first. A
connection of the API server has been served before; one that only sends and never finishes has not.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

MAX_IN_FLIGHT: Final = 32 << 20
"""Far below the memory limit of the chart (512 Mi): a body is held twice while it is put together and decoded."""


@dataclass(slots=True, eq=False)
class BodyInFlight:
    """One request. `served`: how many its connection had answered before; `drop` closes the connection."""

    served: int
    drop: Callable[[], None]
    size: int = 0
    is_complete: bool = False
    is_dropped: bool = False


@dataclass(slots=True)
class BodyBudget:
    """All requests whose bodies are held now, `total` bytes together."""

    limit: int = MAX_IN_FLIGHT
    total: int = 0
    _bodies: dict[BodyInFlight, None] = field(default_factory=dict)

    def begin(self, served: int, drop: Callable[[], None]) -> BodyInFlight:
        """Count one more request."""
        body = BodyInFlight(served, drop)
        self._bodies[body] = None
        return body

    def grow(self, body: BodyInFlight, size: int) -> None:
        """Count more bytes of this body, and drop others, or itself, while the budget is exceeded."""
        body.size += size
        self.total += size
        while self.total > self.limit:
            arriving = [each for each in self._bodies if not each.is_complete]
            if not arriving:
                return
            victim = min(arriving, key=lambda each: (each.served, -each.size))
            victim.is_dropped = True
            self.end(victim)
            if victim is body:
                return
            victim.drop()

    def end(self, body: BodyInFlight) -> None:
        """Count the request no more."""
        if body in self._bodies:
            del self._bodies[body]
            self.total -= body.size
