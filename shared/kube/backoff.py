"""How long to wait before trying again: longer each time, never exactly, short again after a healthy while."""

from dataclasses import dataclass, field
from random import Random

FIRST = 0.1
LONGEST = 30.0
HEALTHY = 60.0


@dataclass(slots=True)
class Backoff:
    """Delays in seconds: 0.1, 0.2, 0.4 … 30, each ±25 %, from the start again after a minute that went well."""

    random: Random = field(default_factory=Random)
    _failures: int = 0

    def delay_after(self, lived: float) -> float:
        """The wait after an attempt that went well for `lived` seconds before it ended."""
        self._failures = 0 if lived >= HEALTHY else self._failures + 1
        return self.random.uniform(0.75, 1.25) * min(LONGEST, FIRST * 2.0 ** min(max(self._failures - 1, 0), 20))
