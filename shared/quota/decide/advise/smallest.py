"""Find the smallest number that has an effect."""

from collections.abc import Callable, Iterable
from typing import Final

_SCANNED: Final = 64
"""Up to this amount, every number is tried: the effect might come and go."""


def smallest(works: Callable[[int], bool], largest: int, hints: Iterable[int] = (), unit: int = 1) -> int | None:
    """Return the smallest number from 1 to `largest` that works; None if none was found.

    Bisect below the smallest of `hints` and `largest` that works, in steps of `unit` first. A small answer is the
    smallest of all; a large one works, and the number before it does not.
    Example: smallest(lambda n: n >= 700, 1000) == 700.
    """
    tried = sorted({hint for hint in (*hints, largest) if 0 < hint <= largest})
    high = next((number for number in tried if works(number)), None)
    if high is None:
        few = largest if largest <= _SCANNED else 0
        return next((number for number in range(1, few) if works(number)), None)
    low = max((number for number in tried if number < high), default=0)
    high = _bisect(works, low, high, unit)
    if unit > 1 and high - 1 > low and works(high - 1):
        high = _bisect(works, low, high - 1, 1)
    few = high if high <= _SCANNED else 0
    return next((number for number in range(1, few) if works(number)), high)


def _bisect(works: Callable[[int], bool], low: int, high: int, unit: int) -> int:
    """Return the smallest low + n * unit below `high` that works; `high` if none does, which works."""
    below, above = 0, -(-(high - low) // unit)
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if works(low + middle * unit) else (middle, above)
    return min(high, low + above * unit)
