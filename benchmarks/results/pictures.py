"""The pictures of docs/benchmarks.md, drawn from the results."""

import re
from collections.abc import Iterator
from typing import Final

from benchmarks.results.curves import Points, chart, linear, logarithmic
from benchmarks.results.results import Results

GROWTH: Final = {
    "first": "CPU of the first decision",
    "memory": "Memory of world, snapshot and cache",
    "finished": "CPU of a decision after one Job ended",
    "edited": "CPU of a decision after an edit of one group",
}
"""what is measured → title."""


DAY: Final = {
    "started": ("Starts, and Jobs that were created", ""),
    "evicted": ("Evictions", ""),
    "waiting": ("Jobs that wait", "Jobs"),
    "idle": ("Idle GPUs", "GPUs"),
    "wanted": ("Idle GPUs that a Job which waits could have", "GPUs"),
}
"""what is measured → title, and unit."""
CONTENDERS: Final = {"quotree": "Quotree", "kueue": "Kueue"}


def pictures(results: Results) -> Iterator[tuple[str, str]]:
    """Yield each picture by the name of its file; none of what was not measured."""
    for what, title in GROWTH.items():
        if lines := _growth(results, what):
            points = [each for line in lines.values() for each in line]
            unit = next(each.unit for each in results.figures if re.fullmatch(rf"growth\.\d+\.\d+\.{what}", each.name))
            across, up = logarithmic([x for x, _ in points], "groups"), logarithmic([y for _, y in points], unit)
            yield f"growth-{what}.svg", chart(title, lines, across, up)

    for what, (title, unit) in DAY.items():
        lines = {name: line for place, name in CONTENDERS.items() if (line := _day(results, place, what))}
        if lines:
            if what == "started":
                lines["created"] = _day(results, next(iter(CONTENDERS)), "created")
            points = [each for line in lines.values() for each in line]
            across, up = linear([x for x, _ in points], "min"), linear([y for _, y in points], unit)
            yield f"day-{what}.svg", chart(title, lines, across, up)


def _day(results: Results, contender: str, what: str) -> Points:
    """Return minute → value; a curve's values are kept as the rounds of its figure, at equal distances."""
    figures = {each.name: each for each in results.figures}
    took, curve = (figures.get(f"day.{contender}.{name}") for name in ("took", f"curve.{what}"))
    if took is None or curve is None:
        return []
    count = len(curve.rounds)
    return [(took.value / 60 * (number + 1) / count, value) for number, value in enumerate(curve.rounds)]


def _growth(results: Results, what: str) -> dict[str, Points]:
    """Return how many wait → cost by the number of groups."""
    found: dict[int, list[tuple[float, float]]] = {}
    for each in results.figures:
        if place := re.fullmatch(rf"growth\.(\d+)\.(\d+)\.{what}", each.name):
            found.setdefault(int(place[2]), []).append((float(place[1]), each.value))
    return {f"{waiting:,} wait": sorted(points) for waiting, points in found.items()}
