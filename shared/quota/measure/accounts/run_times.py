"""How long workloads of a leaf ran: the latest runs that ended by themselves, by the prefix of their names.

Forecasts alone read this (docs/specification.md §9.8).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

MAX_PREFIX: Final = 63
_SEPARATORS: Final = "-."


@dataclass(frozen=True, slots=True)
class LeafRunTimes:
    """What is kept of one leaf; the latest run is the last."""

    seconds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """prefix → run times in seconds; OTHERS has those of prefixes that are not kept."""
    percents: tuple[int, ...] = ()
    """How long runs took of what their owners had expected, in percent."""


RunTimes = Mapping[str, LeafRunTimes]
"""leaf → its run times."""
NO_RUN_TIMES: Final = LeafRunTimes()
OTHERS: Final = ""
"""Stands for all names without a prefix of their own."""


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
