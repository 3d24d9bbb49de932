"""Find the smallest number that has an effect."""

from collections.abc import Callable, Iterable
from typing import Final

_SCANNED: Final = 64
"""Below so many, every number is tried: the effect might come and go."""


def smallest(works: Callable[[int], bool], largest: int, hints: Iterable[int] = ()) -> int | None:
    """Return the smallest number from 1 to `largest` that works; None if none was found.

    Bisect below the smallest of `hints` and `largest` that works. A small answer is the smallest of all; a large one
    works, and the number before it does not. Example: smallest(lambda n: n >= 700, 1000) == 700.
    """
    tried = sorted({hint for hint in (*hints, largest) if 0 < hint <= largest})
    high = next((number for number in tried if works(number)), None)
    if high is None:
        return next((number for number in range(1, min(largest, _SCANNED // 4)) if works(number)), None)
    low = max((number for number in tried if number < high), default=0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return next((number for number in range(1, min(high, _SCANNED)) if works(number)), high)
