"""How many reviews wait for their turn: above a bound, further ones are refused at once, so that none waits for long.

A review that is judged is not counted: that may wait for the API server or another edit, which takes no CPU.
"""

import asyncio


class ReviewQueue:
    """Reviews whose body is read, and which are not being judged yet."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting = 0

    async def turn(self) -> bool:
        """Return True when it is this review's turn, or False at once if too many wait before it.

        The event loop first lets all reviews that have arrived come this far, and so they are counted.
        """
        if self._waiting >= self._limit:
            return False
        self._waiting += 1
        try:
            await asyncio.sleep(0)
        finally:
            self._waiting -= 1
        return True
