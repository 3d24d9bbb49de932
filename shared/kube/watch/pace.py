"""When a watch waits before it reads on, so that one read returns several events.

To wake up for an event costs several times as much as to read it, and a busy cluster sends hundreds in a second, one by
one. The first events after a quiet moment are read at once.
"""

import asyncio
import math
from typing import Final

_MOMENT: Final = 0.01
"""Seconds."""
_MANY: Final = 8
"""Reads in a row; one object is rarely changed so often in so short a time."""


class Pace:
    """The pace of one stream: after many reads that follow each other closely, there is a moment before the next."""

    def __init__(self) -> None:
        self._last = -math.inf
        self._in_a_row = 0

    def wait_after(self, read: float) -> float:
        """Return the seconds to wait after this read; `read`: when it returned, on a monotonic clock."""
        self._in_a_row = self._in_a_row + 1 if read - self._last < 2 * _MOMENT else 0
        self._last = read
        return _MOMENT if self._in_a_row >= _MANY else 0.0

    async def keep(self, read: float) -> None:
        """Wait so long."""
        if wait := self.wait_after(read):
            await asyncio.sleep(wait)
