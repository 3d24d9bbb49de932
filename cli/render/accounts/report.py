"""Accounts as CSV, as a Markdown table, and as one HTML file with its pictures in it."""

import csv
import io
from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import Final

from cli.render.accounts.rows import PARTS
from shared.json_data import Json

_TITLES: Final = (
    *("Group", "Namespace", "Flavor", "Resource"),
    *("Used", "Within min", "Borrowed", "Lent", "Lost", "Budget left", "Run time of expected"),
)
_SHOWN: Final = (
    "group",
    "namespace",
    "flavor",
    "resource",
    *(f"{part}Hours" for part in PARTS),
    "budgetLeft",
    "ofExpected",
)
_NUMBERS: Final = len(_SHOWN) - 4
_FORMULA: Final = ("=", "+", "-", "@")
_WIDTH: Final = 480
_BAR: Final = 18
_NAMES: Final = 200
_STYLE: Final = """body{font:15px/1.5 system-ui,sans-serif;
max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1f2328}
table{border-collapse:collapse;width:100%}th,td{padding:.25rem .6rem;border-bottom:1px solid #d1d9e0;text-align:left}
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}svg text{font-size:12px}
.within{fill:#1a7f64}.borrowed{fill:#bf8700}.key{display:inline-block;width:.8rem;height:.8rem;margin:0 .3rem 0 1rem}"""


def as_csv(rows: Sequence[Json]) -> str:
    """Return all members of the rows, with titles; a spreadsheet takes none for a formula."""
    if not rows:
        return ""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _plain(str(value)) for name, value in row.items()} for row in rows)
    return text.getvalue()


def as_markdown(rows: Sequence[Json]) -> str:
    """Return a table in hours."""
    head = f"| {' | '.join(_TITLES)} |\n|{'---|' * 4}{'---:|' * _NUMBERS}\n"
    return head + "".join(f"| {' | '.join(str(row[name]) for name in _SHOWN)} |\n" for row in rows)


def as_html(rows: Sequence[Json], month: str) -> str:
    """Return a page without links to anything: for each key a picture of the groups, then the table."""
    of_groups = [row for row in rows if not row["namespace"]]
    by_key = sorted(of_groups, key=lambda row: (row["flavor"], row["resource"]))
    pictures = "".join(
        f"<h2>{escape(flavor)}/{escape(resource)}</h2>{_picture(list(own))}"
        for (flavor, resource), own in groupby(by_key, key=lambda row: (row["flavor"], row["resource"]))
    )
    title = f"Accounts of {escape(month)}"
    until = escape(max((row["until"] for row in rows), default=""))
    key = '<span class="key" style="background:#1a7f64"></span>within min'
    key += '<span class="key" style="background:#bf8700"></span>borrowed'
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>"
        f"<body><h1>{title}</h1><p>Counted until {until}. In hours: cores, GiB, or units. {key}</p>{pictures}"
        f"<h2>All amounts</h2>{_table(rows)}</body></html>\n"
    )


def _picture(rows: Sequence[Json]) -> str:
    """Return a bar for each group: what was used within min, and beyond it what was borrowed."""
    most = max((int(row["used"]) for row in rows), default=0) or 1
    bars = [_bar(row, place * (_BAR + 6), most) for place, row in enumerate(rows)]
    height = len(rows) * (_BAR + 6)
    label = escape(", ".join(f"{row['group']} {row['usedHours']}" for row in rows))
    return (
        f'<svg role="img" aria-label="{label}" width="{_NAMES + _WIDTH + 90}" height="{height}">{"".join(bars)}</svg>'
    )


def _bar(row: Json, top: int, most: int) -> str:
    own, borrowed = (int(row[part]) * _WIDTH // most for part in ("withinMin", "borrowed"))
    base, end = top + _BAR - 5, _NAMES + own + borrowed + 6
    return (
        f'<text x="{_NAMES - 8}" y="{base}" text-anchor="end">{escape(row["group"])}</text>'
        f'<rect class="within" x="{_NAMES}" y="{top}" width="{own}" height="{_BAR}"/>'
        f'<rect class="borrowed" x="{_NAMES + own}" y="{top}" width="{borrowed}" height="{_BAR}"/>'
        f'<text x="{end}" y="{base}">{row["usedHours"]}</text>'
    )


def _table(rows: Sequence[Json]) -> str:
    kinds = [""] * 4 + [' class="number"'] * _NUMBERS
    head = "".join(f"<th{kind}>{title}</th>" for kind, title in zip(kinds, _TITLES, strict=True))
    lines = [
        "".join(f"<td{kind}>{escape(str(row[name]))}</td>" for kind, name in zip(kinds, _SHOWN, strict=True))
        for row in rows
    ]
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"
    )


def _plain(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
