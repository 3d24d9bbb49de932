"""How far the ends of an interval are moved, by how right the latest forecasts of its leaf were.

See docs/specification.md §9.8.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from shared.quota.measure.accounts.run_times import LeafRunTimes

ENOUGH: Final = 10
"""So many forecasts of a leaf must have come true before others are corrected by them."""
_MINUTE: Final = timedelta(minutes=1)
_WHOLE: Final = 1000


def corrected(earliest: timedelta, latest: timedelta, seen: LeafRunTimes) -> tuple[timedelta, timedelta]:
    """Return the interval, from now on, of which eight in ten of the latest forecasts would have been right.

    Of the workloads for which a start was forecast, a tenth started before the moved beginning, and a tenth after the
    moved end. If they waited half as long as the earliest and twice as long as the latest, so does this one.
    """
    begin = _moved(earliest, _least(seen.waits_of_earliest))
    end = _moved(latest, _most(seen.waits_of_latest))
    return (begin, end) if begin <= end else (begin - (begin - end) / 2,) * 2


def has_enough(seen: LeafRunTimes) -> bool:
    """Return whether enough forecasts of the leaf have come true."""
    return min(len(seen.waits_of_earliest), len(seen.waits_of_latest)) >= ENOUGH


def _moved(end: timedelta, thousandths: int) -> timedelta:
    return max(timedelta(), (end + _MINUTE) * thousandths / _WHOLE - _MINUTE)


def _most(thousandths: Sequence[int]) -> int:
    """Return what another one exceeds once in ten times."""
    return sorted(thousandths)[_rank(len(thousandths)) - 1]


def _least(thousandths: Sequence[int]) -> int:
    """Return what another one falls below once in ten times."""
    return sorted(thousandths)[-_rank(len(thousandths))]


def _rank(count: int) -> int:
    """Return the place of the nine tenths: of 10 values the 10th, of 64 the 59th, for another one comes to them."""
    return -(-(count + 1) * 9 // 10)
