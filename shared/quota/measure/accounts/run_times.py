"""How long workloads of a leaf ran, by series; when the latest came; and how long they waited of what was forecast.

Runs count that ended by themselves.

A series is named by a number: who may read a status might not be allowed to know names of workloads.

Forecasts alone read this (docs/specification.md §9.8).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from operator import attrgetter
from typing import Final, NamedTuple
from zlib import crc32

from shared.quota.measure.accounts.waits import EndedWait
from shared.resources import Amount

MAX_PREFIX: Final = 63
MAX_SERIES: Final = 12
"""So many series of a leaf are kept: those whose runs ended last."""
MAX_RUNS: Final = 24
"""So many runs of a series are kept: the latest."""
MAX_ARRIVALS: Final = 48
"""So many workloads of a leaf that have ended are kept with when they came: those that came last."""
MAX_WAITS: Final = 48
"""So many forecasts of a leaf are kept whose workloads have started: the latest."""
_MOST_PERCENT: Final = 10_000
_SECOND: Final = 1000
_SEPARATORS: Final = "-."


class PastArrival(NamedTuple):
    """A workload that has ended: when it came and how long it ran, in seconds; its request, in base units."""

    came: int
    took: int
    request: Mapping[str, Amount]
    priority: int = 0


class EndedRun(NamedTuple):
    """A run that ended by itself: when, how long it took, both in milliseconds; what its owner had expected."""

    series: str
    end: int
    took: int
    expected: timedelta | None = None
    arrival: PastArrival | None = None


@dataclass(frozen=True, slots=True)
class LeafRunTimes:
    """What is kept of one leaf; the latest run is the last."""

    seconds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """series → run times in seconds."""
    percents: tuple[int, ...] = ()
    """How long runs took of what their owners had expected, in percent."""
    arrivals: tuple[PastArrival, ...] = ()
    """In their order. All that came after `arrivals_since` and have ended by themselves."""
    arrivals_since: int = 0
    """In seconds since 1970; 0: of none it is known when it came."""
    waits_of_earliest: tuple[int, ...] = ()
    """How long workloads waited of the earliest that had been forecast for them, as in `EndedWait`."""
    waits_of_latest: tuple[int, ...] = ()
    """The same of the latest, in the same order."""

    def after_wait(self, wait: EndedWait) -> "LeafRunTimes":
        """Return this with the wait of one more workload for which a start was forecast."""
        of_earliest = (*self.waits_of_earliest, wait.of_earliest)[-MAX_WAITS:]
        of_latest = (*self.waits_of_latest, wait.of_latest)[-MAX_WAITS:]
        return replace(self, waits_of_earliest=of_earliest, waits_of_latest=of_latest)

    def after(self, run: EndedRun) -> "LeafRunTimes":
        """Return this with one more run; the oldest ones are forgotten, and series that have had none for longest."""
        took = max(1, run.took // _SECOND)
        own = (*self.seconds.get(run.series, ()), took)[-MAX_RUNS:]
        seconds = {series: each for series, each in self.seconds.items() if series != run.series} | {run.series: own}
        kept = dict([*seconds.items()][-MAX_SERIES:])
        arrivals, since = self._arrivals_after(run)
        percents = self._percents_after(run, took)
        return replace(self, seconds=kept, percents=percents, arrivals=arrivals, arrivals_since=since)

    def _percents_after(self, run: EndedRun, took: int) -> tuple[int, ...]:
        if run.expected is None:
            return self.percents
        percent = min(max(1, took * 100 // max(1, run.expected // timedelta(seconds=1))), _MOST_PERCENT)
        return (*self.percents, percent)[-MAX_RUNS:]

    def _arrivals_after(self, run: EndedRun) -> tuple[tuple[PastArrival, ...], int]:
        if run.arrival is None:
            return self.arrivals, self.arrivals_since
        # What came before the first end that is seen might have ended unseen.
        since = self.arrivals_since or run.end // _SECOND
        if run.arrival.came <= since:
            return self.arrivals, since
        # Alike workloads share one request: arrivals of thousands of leaves are held in memory.
        known = (each.request for each in self.arrivals if each.request == run.arrival.request)
        arrival = run.arrival._replace(request=next(known, run.arrival.request))
        ordered = sorted((*self.arrivals, arrival), key=attrgetter("came"))
        forgotten = ordered[:-MAX_ARRIVALS]
        return tuple(ordered[-MAX_ARRIVALS:]), forgotten[-1].came if forgotten else since


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
