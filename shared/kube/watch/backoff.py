"""How long to wait before trying again: longer each time, never exactly, short again after a healthy while."""

from dataclasses import dataclass, field
from random import Random

FIRST = 0.1
LONGEST = 30.0
HEALTHY = 60.0
_STEADY = 1.0
_SHARE = 0.1


@dataclass(slots=True)
class Backoff:
    """Delays in seconds: 0.1, 0.2, 0.4 … 30, each ±25 %.

    They start again after a minute that went well. After a second or more, they are at most a tenth of what went well:
    a proxy that cuts every half minute must not cost another half minute each time.
    """

    random: Random = field(default_factory=Random)
    _failures: int = 0

    def delay_after(self, lived: float) -> float:
        """The wait after an attempt that went well for `lived` seconds before it ended."""
        if lived >= HEALTHY:
            self._failures = 0
        delay = min(LONGEST, FIRST * 2.0 ** min(self._failures, 20))
        if lived >= _STEADY:
            delay = min(delay, lived * _SHARE)
        self._failures += 1
        return self.random.uniform(0.75, 1.25) * delay
