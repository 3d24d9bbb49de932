"""Find the smallest number that has an effect, and write it as a person would."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from shared.resources import Amount, is_counted_in_bytes

_SCANNED: Final = 64
"""Up to this amount, every number is tried: the effect might come and go."""
WRITTEN: Final = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 32, 40, 48, 64)
"""Numbers to try where the effect might come and go: those that a person would write."""
_CORE: Final = 1000
_GIB: Final = 1 << 30
_ROUNDED: Final = 8
"""An amount is rounded up by less than one part in so many."""


class SmallestNumber(NamedTuple):
    """A number that has an effect. `is_sure`: no smaller one was seen to be possible."""

    number: int
    is_sure: bool = True


def smallest(
    works: Callable[[int], bool],
    largest: int,
    hints: Iterable[int] = (),
    unit: int = 1,
    written: Sequence[int] = WRITTEN,
) -> SmallestNumber | None:
    """Return the smallest number found from 1 to `largest` that works; None if none was found.

    Bisect below the smallest of `hints`, `largest` and `written` that works, in steps of `unit` first. A small answer
    is the smallest of all; a large one works, and the number before it does not. It is not sure if the effect comes and
    goes.
    Example: smallest(lambda n: n >= 700, 1000) == SmallestNumber(700).
    """
    tried: dict[int, bool] = {}

    def does(number: int) -> bool:
        found = tried.get(number)
        if found is None:
            found = tried[number] = works(number)
        return found

    known = sorted({hint for hint in (*hints, largest) if 0 < hint <= largest})
    high = next((number for number in known if does(number)), None)
    most = largest if high is None else high
    if most > _SCANNED:
        lower = next((number for number in written if number < most and does(number)), None)
        if lower is not None and high is not None:
            does(high - 1)  # if this has no effect, the effect comes and goes
        high = high if lower is None else lower
    if high is not None:
        low = max((number for number, done in tried.items() if number < high and not done), default=0)
        high = _bisect(does, low, high, unit)
        if unit > 1 and high - 1 > low and does(high - 1):
            high = _bisect(does, low, high - 1, 1)
    most = largest if high is None else high
    few = range(1, most) if most <= _SCANNED else ()
    found = next((number for number in few if does(number)), high)
    if found is None:
        return None
    is_sure = found <= _SCANNED or all(done for number, done in tried.items() if number > found)
    return SmallestNumber(found, is_sure)


def _bisect(works: Callable[[int], bool], low: int, high: int, unit: int) -> int:
    """Return the smallest low + n * unit below `high` that works; `high` if none does, which works."""
    below, above = 0, -(-(high - low) // unit)
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if works(low + middle * unit) else (middle, above)
    return min(high, low + above * unit)


def amounts_written(resource: str, unit: Amount) -> Sequence[Amount]:
    """Return the amounts that a person would try: whole units, and whole cores or Gi."""
    whole = _CORE if resource == "cpu" else _GIB if is_counted_in_bytes(resource) else unit
    return sorted({each * number for number in WRITTEN for each in (unit, whole)})


def rounded_up(resource: str, amount: Amount) -> Amount:
    """Return the amount as a person would write it, rounded up: 1337 of cpu is 1400, 1.4 cores; devices stay so.

    It grows by less than an eighth: to whole 10m, 100m and cores, or to whole Ki, Mi, Gi and so on.
    """
    if resource == "cpu":
        steps = [10**power for power in range(1, 19)]
    elif is_counted_in_bytes(resource):
        steps = [1 << 10 * power for power in range(1, 7)]
    else:
        return amount
    step = max((each for each in steps if each * _ROUNDED <= amount), default=1)
    return -(-amount // step) * step
