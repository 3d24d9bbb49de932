"""One HTML page without links to anything: a title, a table, and pictures of bars, all in one style."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import accumulate
from typing import Final, NamedTuple

_WIDTH: Final = 480
_BAR: Final = 18
_LINE: Final = _BAR + 6
_NAMES: Final = 200
_COLORS: Final = ("#1a7f64", "#bf8700")
_STYLE: Final = f"""body{{font:15px/1.5 system-ui,sans-serif;
max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1f2328}}
table{{border-collapse:collapse;width:100%}}
th,td{{padding:.25rem .6rem;border-bottom:1px solid #d1d9e0;text-align:left}}
td.number,th.number{{text-align:right;font-variant-numeric:tabular-nums}}svg text{{font-size:12px}}
.first{{fill:{_COLORS[0]}}}.second{{fill:{_COLORS[1]}}}
.key{{display:inline-block;width:.8rem;height:.8rem;margin:0 .3rem 0 1rem}}"""


class Bar(NamedTuple):
    """A named bar of two parts, one after the other, and what is said at its end."""

    name: str
    parts: tuple[float, float]
    said: str


def page(title: str, *body: str) -> str:
    """Return the page. `body` is HTML."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>{''.join(body)}</body></html>\n"
    )


def table(titles: Sequence[str], lines: Iterable[Sequence[str]], texts: int) -> str:
    """Return a table. `texts`: how many columns on the left are text; the others are numbers."""
    kinds = [""] * texts + [' class="number"'] * (len(titles) - texts)
    rows = "".join(f"<tr>{_cells('td', kinds, line)}</tr>" for line in lines)
    return f"<table><thead><tr>{_cells('th', kinds, titles)}</tr></thead><tbody>{rows}</tbody></table>"


def _cells(tag: str, kinds: Sequence[str], texts: Sequence[str]) -> str:
    return "".join(f"<{tag}{kind}>{escape(text)}</{tag}>" for kind, text in zip(kinds, texts, strict=True))


def color_key(first: str, second: str) -> str:
    """Return what the two parts of the bars are."""
    named = zip(_COLORS, (first, second), strict=True)
    return "".join(f'<span class="key" style="background:{color}"></span>{escape(name)}' for color, name in named)


def picture(bars: Sequence[Bar], label: str) -> str:
    """Return the bars below each other, the longest as wide as there is room. `label`: what a screen reader says."""
    most = max((sum(each.parts) for each in bars), default=0) or 1
    lines = "".join(_bar(each, place * _LINE, most) for place, each in enumerate(bars))
    size = f'width="{_NAMES + _WIDTH + 120}" height="{len(bars) * _LINE}"'
    return f'<svg role="img" aria-label="{escape(label)}" {size}>{lines}</svg>'


def _bar(bar: Bar, top: int, most: float) -> str:
    first, end = (int(each * _WIDTH / most) for each in accumulate(bar.parts))
    base = top + _BAR - 5
    return (
        f'<text x="{_NAMES - 8}" y="{base}" text-anchor="end">{escape(bar.name)}</text>'
        f'<rect class="first" x="{_NAMES}" y="{top}" width="{first}" height="{_BAR}"/>'
        f'<rect class="second" x="{_NAMES + first}" y="{top}" width="{end - first}" height="{_BAR}"/>'
        f'<text x="{_NAMES + end + 6}" y="{base}">{escape(bar.said)}</text>'
    )
