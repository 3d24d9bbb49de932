"""The pictures of docs/benchmarks.md, drawn from the results."""

import re
from collections.abc import Iterator
from typing import Final

from benchmarks.results.curves import Points, chart, logarithmic
from benchmarks.results.results import Results

GROWTH: Final = {
    "first": "CPU of the first decision",
    "memory": "Memory of world, snapshot and cache",
    "finished": "CPU of a decision after one Job ended",
    "edited": "CPU of a decision after an edit of one group",
}
"""what is measured → title."""


def pictures(results: Results) -> Iterator[tuple[str, str]]:
    """Yield each picture by the name of its file; none of what was not measured."""
    for what, title in GROWTH.items():
        if lines := _growth(results, what):
            points = [each for line in lines.values() for each in line]
            unit = next(each.unit for each in results.figures if re.fullmatch(rf"growth\.\d+\.\d+\.{what}", each.name))
            across, up = logarithmic([x for x, _ in points], "groups"), logarithmic([y for _, y in points], unit)
            yield f"growth-{what}.svg", chart(title, lines, across, up)


def _growth(results: Results, what: str) -> dict[str, Points]:
    """Return how many wait → cost by the number of groups."""
    found: dict[int, list[tuple[float, float]]] = {}
    for each in results.figures:
        if place := re.fullmatch(rf"growth\.(\d+)\.(\d+)\.{what}", each.name):
            found.setdefault(int(place[2]), []).append((float(place[1]), each.value))
    return {f"{waiting:,} wait": sorted(points) for waiting, points in found.items()}
