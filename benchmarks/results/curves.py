"""Curves as SVG: lines over one axis, on logarithmic or linear scales, in one style."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from benchmarks.results.figures import amount_text

WIDTH: Final = 640
HEIGHT: Final = 320
LEFT, RIGHT, TOP, BOTTOM = 80, 150, 36, 48
COLORS: Final = ("#1a7f64", "#bf8700", "#8250df", "#0969da", "#cf222e")
_STYLE: Final = (
    "text{font:12px system-ui,sans-serif;fill:#57606a}.title{font-size:14px}"
    ".grid{stroke:#d1d9e0}.curve{fill:none;stroke-width:2}"
)

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Scale:
    """One axis: which values lie at which place between 0 and 1, and which are written beside it."""

    place: Callable[[float], float]
    marks: Sequence[float]
    unit: str


def logarithmic(values: Sequence[float], unit: str) -> Scale:
    """Return an axis from the power of ten below all values to that above them."""
    positive = [each for each in values if each > 0] or [1.0]
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    decades = max(1, high - low)
    marks = [10.0**power for power in range(low, low + decades + 1)]
    return Scale(lambda value: (math.log10(max(value, marks[0])) - low) / decades, marks, unit)


def linear(values: Sequence[float], unit: str) -> Scale:
    """Return an axis from 0 to a round number above all values."""
    most = max(values, default=0) or 1.0
    step = 10 ** math.floor(math.log10(most))
    step = next(part for part in (step / 5, step / 2, step, step * 2) if most / part <= 6)
    count = math.ceil(most / step)
    return Scale(lambda value: value / (count * step), [step * mark for mark in range(count + 1)], unit)


def chart(title: str, lines: Mapping[str, Points], across: Scale, up: Scale) -> str:
    """Return the picture: a line for each name, which stands at its end."""
    label, box = f'role="img" aria-label="{escape(title)}"', f'viewBox="0 0 {WIDTH} {HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {label} {box}>',
        f'<style>{_STYLE}</style><rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text class="title" x="{LEFT}" y="20">{escape(title)}</text>',
        *(_across(mark, across) for mark in across.marks),
        *(_up(mark, up) for mark in up.marks),
        *_curves(lines, across, up),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _x(value: float, scale: Scale) -> float:
    return round(LEFT + scale.place(value) * (WIDTH - LEFT - RIGHT), 1)


def _y(value: float, scale: Scale) -> float:
    return round(HEIGHT - BOTTOM - scale.place(value) * (HEIGHT - TOP - BOTTOM), 1)


def _across(mark: float, scale: Scale) -> str:
    x, bottom = _x(mark, scale), HEIGHT - BOTTOM
    line = f'<line class="grid" x1="{x}" y1="{TOP}" x2="{x}" y2="{bottom}"/>'
    return f'{line}<text x="{x}" y="{bottom + 20}" text-anchor="middle">{amount_text(mark, scale.unit)}</text>'


def _up(mark: float, scale: Scale) -> str:
    y = _y(mark, scale)
    line = f'<line class="grid" x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>'
    return f'{line}<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{amount_text(mark, scale.unit)}</text>'


def _curves(lines: Mapping[str, Points], across: Scale, up: Scale) -> Iterator[str]:
    """Yield the lines, colored in their order; a name is moved down where it would lie on the one above it."""
    colors = {name: COLORS[number % len(COLORS)] for number, name in enumerate(lines)}
    ends = sorted((_y(points[-1][1], up), name) for name, points in lines.items() if points)
    free = 0.0
    for y, name in ends:
        color, places = colors[name], lines[name]
        path = " ".join(f"{_x(x, across)},{_y(value, up)}" for x, value in places)
        free = max(y + 4, free)
        yield f'<polyline class="curve" stroke="{color}" points="{path}"/>'
        yield f'<text x="{_x(places[-1][0], across) + 6}" y="{free}" style="fill:{color}">{escape(name)}</text>'
        free += 14
