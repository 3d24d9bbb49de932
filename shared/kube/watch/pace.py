"""When a watch waits before it reads on, so that one read returns several events.

To wake up for an event costs several times as much as to read it, and a busy cluster sends hundreds in a second, one by
one. While fewer come, each is read at once.
"""

import math
from typing import Final

_MOMENT: Final = 0.025
"""Seconds."""
_BUSY: Final = 100.0
"""Events per second."""
_MANY: Final = 8
"""Events at once; one object is rarely changed so often in so short a time."""
_MOST: Final = 2 * _MANY


class Pace:
    """The pace of one stream: while events come faster than `_BUSY`, there is a moment before each read."""

    def __init__(self) -> None:
        self._last = -math.inf
        self._surplus = 0.0
        """By how many events the stream is ahead of `_BUSY`; at most `_MOST`, so that a burst is soon forgotten."""

    def wait_after(self, read: float, events: int) -> float:
        """Return the seconds to wait after a read of so many events; `read`: when it returned, on a monotonic clock."""
        left = max(self._surplus - (read - self._last) * _BUSY, 0.0)
        self._surplus = min(left + events, _MOST)
        self._last = read
        return _MOMENT if self._surplus > _MANY else 0.0
