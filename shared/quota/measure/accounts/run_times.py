"""How long workloads of a leaf ran: the latest runs that ended by themselves, by series of alike workloads.

A series is named by a number: who may read a status might not be allowed to know names of workloads.

Forecasts alone read this (docs/specification.md §9.8).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, NamedTuple
from zlib import crc32

MAX_PREFIX: Final = 63
MAX_SERIES: Final = 12
"""So many series of a leaf are kept: those whose runs ended last."""
MAX_RUNS: Final = 24
"""So many runs of a series are kept: the latest."""
_MOST_PERCENT: Final = 10_000
_SECOND: Final = 1000
_SEPARATORS: Final = "-."


class EndedRun(NamedTuple):
    """A run that ended by itself: when, how long it took, both in milliseconds; what its owner had expected."""

    series: str
    end: int
    took: int
    expected: timedelta | None = None


@dataclass(frozen=True, slots=True)
class LeafRunTimes:
    """What is kept of one leaf; the latest run is the last."""

    seconds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """series → run times in seconds."""
    percents: tuple[int, ...] = ()
    """How long runs took of what their owners had expected, in percent."""

    def after(self, run: EndedRun) -> "LeafRunTimes":
        """Return this with one more run; the oldest ones are forgotten, and series that have had none for longest."""
        took = max(1, run.took // _SECOND)
        own = (*self.seconds.get(run.series, ()), took)[-MAX_RUNS:]
        seconds = {series: each for series, each in self.seconds.items() if series != run.series} | {run.series: own}
        kept = dict([*seconds.items()][-MAX_SERIES:])
        if run.expected is None:
            return LeafRunTimes(kept, self.percents)
        percent = min(max(1, took * 100 // max(1, run.expected // timedelta(seconds=1))), _MOST_PERCENT)
        return LeafRunTimes(kept, (*self.percents, percent)[-MAX_RUNS:])


RunTimes = Mapping[str, LeafRunTimes]
"""leaf → its run times."""
NO_RUN_TIMES: Final = LeafRunTimes()


def series_of(key: str) -> str:
    """Return the series of the workload with this namespace/name: of its namespace, and the prefix of its name."""
    namespace, _, name = key.partition("/")
    return f"{crc32(f'{namespace}/{prefix_of(name)}'.encode()):08x}"


def prefix_of(name: str) -> str:
    """Return what names of alike workloads have in common: the name without its last parts that have a digit.

    train-7 and train-8 have the prefix train; etl-20261126-x7k2p has etl; a name that begins with a digit has none.
    """
    rest = name
    while any(letter.isdigit() for letter in _last_part(rest)):
        shorter = rest[: len(rest) - len(_last_part(rest))].rstrip(_SEPARATORS)
        if not shorter:
            rest = rest.rstrip("0123456789" + _SEPARATORS)
            break
        rest = shorter
    return "" if rest[:1].isdigit() else rest[:MAX_PREFIX]


def _last_part(name: str) -> str:
    return name[max(name.rfind(each) for each in _SEPARATORS) + 1 :]


def percent_quantiles(percents: Sequence[int]) -> tuple[int, int, int]:
    """Return which percents a tenth, half and nine tenths of these do not exceed. There must be one."""
    ordered = sorted(percents)
    least, half, most = (ordered[max(0, -(-len(ordered) * tenths // 10) - 1)] for tenths in (1, 5, 9))
    return least, half, most
