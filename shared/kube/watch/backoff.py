"""Exponential back-off with jitter, reset after a healthy period."""

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

    They start again after a healthy minute. After a healthy second or more, they are at most a tenth of that time:
    a proxy that cuts every half minute must not cost another half minute each time.
    """

    random: Random = field(default_factory=Random)
    _failures: int = 0

    def delay_after(self, lived: float) -> float:
        """Return the wait after an attempt that was healthy for `lived` seconds."""
        if lived >= HEALTHY:
            self._failures = 0
        delay = min(LONGEST, FIRST * 2.0 ** min(self._failures, 20))
        if lived >= _STEADY:
            delay = min(delay, lived * _SHARE)
        self._failures += 1
        return self.random.uniform(0.75, 1.25) * delay
