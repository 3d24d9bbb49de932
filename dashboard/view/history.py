"""What the groups used since the process began: at most some hundred moments, however long that is.

Kept in memory only. When it is full, every second moment is dropped and the next ones come half as often, so that it
always covers the whole time.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import nan
from typing import Final

from dashboard.view.frame import Frame
from dashboard.view.totals import totals, waiting
from dashboard.view.tree import amounts_of, measured
from shared.quota.model.tree import ROOT
from shared.resources import FlavorResource

_FIRST: Final = timedelta(seconds=5)
_MOST: Final = 200
WORDS: Final = ("used", "runtime", "min", "borrowed")
PENDING: Final = "pending"
CAPACITY: Final = "capacity"
LENT: Final = "lent"
Series = tuple[str, FlavorResource | None, str]
"""A group, flavor and resource, and a word: of WORDS; of root also CAPACITY and LENT, and without the key PENDING."""


@dataclass(frozen=True, slots=True)
class _Moment:
    time: datetime
    values: "array[float]"
    """Number of the series -> its value in single precision, for drawing; a later series is beyond the end."""


@dataclass(slots=True)
class History:
    """Moments of every group's numbers."""

    step: timedelta = _FIRST
    most: int = _MOST
    _moments: Sequence[_Moment] = ()
    """Replaced as a whole: pages are computed in other threads meanwhile."""
    _numbers: dict[Series, int] = field(default_factory=dict)

    def add(self, frame: Frame) -> None:
        """Keep the numbers of the frame, unless the last moment is too near."""
        last = self._moments[-1].time if self._moments else None
        if last is not None and frame.now - last < self.step:
            return
        values = array("f", [nan]) * len(self._numbers)
        for series, value in _values_of(frame):
            number = self._numbers.setdefault(series, len(self._numbers))
            if number < len(values):
                values[number] = value
            else:
                values.append(value)
        moments = [*self._moments, _Moment(frame.now, values)]
        if len(moments) > self.most:
            moments, self.step = moments[::2], 2 * self.step
        self._moments = moments

    def times(self) -> list[float]:
        """Return the moments, in seconds since 1970."""
        return [each.time.timestamp() for each in self._moments]

    def of(self, group: str, key: FlavorResource | None, word: str) -> list[float | None]:
        """Return one number at each moment; None where the group did not have it."""
        number = self._numbers.get((group, key, word))
        return [_value(each.values, number) for each in self._moments]


def _value(values: "array[float]", number: int | None) -> float | None:
    if number is None or number >= len(values):
        return None
    found = values[number]
    return None if found != found else found  # noqa: PLR0124 - NaN


def _values_of(frame: Frame) -> Iterator[tuple[Series, float]]:
    for name, record in frame.groups.items():
        for key, amounts in amounts_of(record, measured(frame, record)):
            yield from (((name, key, word), float(amounts[word])) for word in WORDS)
    yield (ROOT, None, PENDING), float(waiting(frame))
    for key, total in totals(frame).items():
        yield (ROOT, key, CAPACITY), float(total.capacity)
        yield (ROOT, key, LENT), float(total.lent)
