"""Figures: what a benchmark measured, the bar that it should meet, and where benchmarks leave them.

A benchmark prints for people and calls `record` for each figure. `python -m benchmarks` names a file in the environment
variable `FIGURES`, into which `record` appends; without it nothing is kept.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

FIGURES: Final = "QUOTREE_BENCHMARK_FIGURES"
DIGITS: Final = 3
"""Significant digits of a figure that is shown."""


class Figure(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One number. `name`: benchmark, contender or case, and what was measured, with dots between.

    `at_most`, `at_least`: the bar, if it has one. `peer` and `peer_name`: what another one had in the same run.
    `rounds`: the values of which this one is the median.
    """

    name: str
    value: float
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    peer_name: str = ""
    peer: float | None = None
    rounds: tuple[float, ...] = ()

    @property
    def is_met(self) -> bool | None:
        """Whether it meets its bar; None without one. What is shown decides: 10.04 meets a bar of 10."""
        if self.at_most is None and self.at_least is None:
            return None
        shown = rounded(self.value)
        return (self.at_most is None or shown <= self.at_most) and (self.at_least is None or shown >= self.at_least)

    @property
    def text(self) -> str:
        """The number and its unit."""
        return amount_text(self.value, self.unit)

    @property
    def bar_text(self) -> str:
        """Its bar, and its peer's figure: `≤ 10 ms`, `Kueue 53.6 ms`, or nothing."""
        bars = (("≤", self.at_most), ("≥", self.at_least), (self.peer_name, self.peer))
        return ", ".join(f"{sign} {amount_text(value, self.unit)}" for sign, value in bars if value is not None)


def of_rounds(
    name: str, values: Sequence[float], unit: str, *, at_most: float | None = None, at_least: float | None = None
) -> Figure:
    """Return the median of several rounds, with what each gave."""
    each = tuple(map(rounded, values)) if len(values) > 1 else ()
    return Figure(name, median(values), unit, at_most=at_most, at_least=at_least, rounds=each)


def rounded(value: float) -> float:
    """Return the value with as many digits as are shown."""
    return float(f"{value:.{DIGITS}g}") if abs(value) < 1000 else float(round(value))


def amount_text(value: float, unit: str) -> str:
    """Return the amount as it is shown: `11.4 ms`, `4,648 /s`, `5 %`."""
    shown = rounded(value)
    number = f"{shown:,.0f}" if abs(shown) >= 100 or shown == int(shown) else f"{shown:.{DIGITS}g}"
    return f"{number} {unit}".rstrip()


def record(*figures: Figure) -> None:
    """Keep them, if a whole run of benchmarks wants them."""
    path = os.environ.get(FIGURES)
    if path:
        with Path(path).open("ab") as file:
            file.writelines(msgspec.json.encode(each) + b"\n" for each in figures)


def recorded(path: Path) -> list[Figure]:
    """Return what benchmarks have left there; of figures of one name the last, which knows of more rounds."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    found = (msgspec.json.decode(line, type=Figure) for line in lines)
    return list({each.name: each for each in found}.values())


def table(figures: Iterable[Figure]) -> str:
    """Return the Markdown table of all: name, figure, bar or peer, and whether the bar is met."""
    said = {None: "", True: "met", False: "**missed**"}
    rows = [(each.name, each.text, each.bar_text, said[each.is_met]) for each in figures]
    titles = ("name", "figure", "bar or peer in the same run", "")
    widths = [max(len(row[at]) for row in (titles, *rows)) for at in range(len(titles))]
    lines = [_row(titles, widths), "|" + "|".join("-" * (width + 2) for width in widths) + "|"]
    return "\n".join([*lines, *(_row(row, widths) for row in rows)])


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"
