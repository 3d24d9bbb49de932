"""One run of the benchmarks as a file: on what, which benchmarks, what they measured."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from benchmarks.results.figures import Figure

RESULTS: Final = Path(__file__).parents[2] / "docs" / "benchmarks" / "results.json"
BY_HAND: Final = RESULTS.with_name("by_hand.json")
"""Holds what is not part of a whole run: measured at another time, perhaps on another machine."""


OK: Final = "ok"
TRIAL: Final = "a trial"
ENDED_WELL: Final = (OK, TRIAL)


class Outcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one benchmark ended. `words`: its options; `load`: of the machine before; `end`: OK, or what went wrong."""

    name: str
    words: str
    commit: str
    date: str
    load: float
    seconds: int
    end: str = OK


Entry = TypeVar("Entry", Outcome, Figure)


class Results(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything of one run."""

    conditions: dict[str, str]
    outcomes: tuple[Outcome, ...]
    figures: tuple[Figure, ...]

    @property
    def summary(self) -> str:
        """How long it took, and what failed."""
        minutes = sum(each.seconds for each in self.outcomes) / 60
        failed = [f"{each.name}: {each.end}" for each in self.outcomes if each.end not in ENDED_WELL]
        missed = sum(each.is_met is False for each in self.figures)
        barred = sum(each.is_met is not None for each in self.figures)
        text = f"{len(self.outcomes)} benchmarks in {minutes:.0f} minutes; {missed} of {barred} bars missed"
        return f"{text}; failed: {'; '.join(failed)}" if failed else text


def merged(before: Results, after: Results) -> Results:
    """Return the earlier results with those benchmarks replaced that were run again.

    Raises ValueError if they were measured on something else: then nothing of both can be compared.
    """
    if before.conditions != after.conditions:
        raise ValueError(f"measured on {before.conditions}, not on {after.conditions}: run all benchmarks again")
    again = {each.name for each in after.outcomes}

    def others(entries: Iterable[Entry]) -> Iterator[Entry]:
        return (each for each in entries if each.name.partition(".")[0] not in again)

    return Results(
        after.conditions,
        (*others(before.outcomes), *after.outcomes),
        (*others(before.figures), *after.figures),
    )


def write_results(results: Results, path: Path) -> None:
    """Write them as JSON with one entry on a line, so that a diff can show what changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = (f'"{name}": {_lines(getattr(results, name))}' for name in Results.__struct_fields__)
    path.write_text("{" + ",\n".join(parts) + "}\n")


def _lines(entries: Mapping[str, str] | Sequence[msgspec.Struct]) -> str:
    if isinstance(entries, Mapping):
        return "{\n" + ",\n".join(f"{_json(name)}: {_json(value)}" for name, value in entries.items()) + "\n}"
    return "[\n" + ",\n".join(map(_json, entries)) + "\n]"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def read_results(path: Path = RESULTS) -> Results:
    """Read them back."""
    return msgspec.json.decode(path.read_bytes(), type=Results)
