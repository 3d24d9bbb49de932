"""How far a replay does as the log says: which starts and evictions are the same, and whether in the same order."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from cli.replay.lives import Replayed
from shared.json_data import Json

Pair = tuple[datetime, datetime]
"""When something happened in the log, and in the replay."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One sort of event: the first, second, … start of a workload is the same as its first, second, … in the replay."""

    recorded: int
    replayed: int
    both: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A log beside its replay."""

    starts: Compared
    evictions: Compared
    pairs: int
    """Pairs of these that both have, at different moments of the log."""
    exchanged: int
    """How many of them come in the other order in the replay."""

    @property
    def percent_in_order(self) -> float:
        """The part of the pairs that come in the same order."""
        return 100.0 if not self.pairs else 100 * (1 - self.exchanged / self.pairs)

    def as_data(self) -> Json:
        """Return it as JSON."""
        return {
            "starts": asdict(self.starts),
            "evictions": asdict(self.evictions),
            "pairs": self.pairs,
            "exchanged": self.exchanged,
        }

    def sentence(self) -> str:
        """Return it in words."""
        parts = (
            f"{each.both} of {each.recorded} {word} are the same, {each.replayed - each.both} are others"
            for word, each in (("starts", self.starts), ("evictions", self.evictions))
        )
        return f"beside the log: {'; '.join(parts)}; {self.percent_in_order:.2f} % of their pairs in the same order"


def compare(replayed: Replayed) -> Comparison:
    """Compare what happened in the log from its first moment on."""
    starts = [_happened(each.past.starts, each.starts, replayed.log.begin) for each in replayed.workloads]
    evictions = [_happened(each.past.evictions, each.evictions, replayed.log.begin) for each in replayed.workloads]
    both = sorted(pair for each in (*starts, *evictions) for pair in zip(*each, strict=False))
    return Comparison(_compared(starts), _compared(evictions), *_in_order(both))


def _happened(
    recorded: Sequence[datetime], replayed: Sequence[datetime], begin: datetime
) -> tuple[Sequence[datetime], Sequence[datetime]]:
    """Return both without what had happened when the log begins."""
    return [each for each in recorded if each >= begin], [each for each in replayed if each >= begin]


def _compared(events: Sequence[tuple[Sequence[datetime], Sequence[datetime]]]) -> Compared:
    recorded, replayed = (sum(len(each[side]) for each in events) for side in (0, 1))
    return Compared(recorded, replayed, sum(min(map(len, each)) for each in events))


def _in_order(events: Sequence[Pair]) -> tuple[int, int]:
    """Return how many pairs of these events, sorted, have different first times, and how many of them are exchanged."""
    ranks = sorted({again for _, again in events})
    seen = _Counts(len(ranks))
    pairs = exchanged = 0
    for _, together in groupby(events, key=itemgetter(0)):
        places = [bisect_right(ranks, again) for _, again in together]
        pairs += seen.total * len(places)
        exchanged += sum(seen.total - seen.up_to(place) for place in places)
        for place in places:
            seen.add(place)
    return pairs, exchanged


class _Counts:
    """How many of some places from 1 on were added up to each: a Fenwick tree."""

    def __init__(self, places: int) -> None:
        self.total = 0
        self._sums = [0] * (places + 1)

    def add(self, place: int) -> None:
        """Count this place once more."""
        self.total += 1
        while place < len(self._sums):
            self._sums[place] += 1
            place += place & -place

    def up_to(self, place: int) -> int:
        """Return how many are at this place or before it."""
        found = 0
        while place:
            found += self._sums[place]
            place -= place & -place
        return found
