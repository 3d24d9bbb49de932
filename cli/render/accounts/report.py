"""Accounts as CSV, as a Markdown table, and as one HTML file with its pictures in it."""

import csv
import io
from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import Final

from cli.render.page import Bar, color_key, page, picture, table
from shared.json_data import Json
from shared.text.accounts.rows import PARTS

_TITLES: Final = (
    *("Group", "Namespace", "Flavor", "Resource"),
    *(
        "Used",
        "Within min",
        "Borrowed",
        "Lent",
        "Lost",
        "Budget left",
        "Run time of expected",
        "Borrowed from",
        "Lent to",
    ),
)
_SHOWN: Final = (
    "group",
    "namespace",
    "flavor",
    "resource",
    *(f"{part}Hours" for part in PARTS),
    "budgetLeft",
    "ofExpected",
    "borrowedFromHours",
    "lentToHours",
)
_NUMBERS: Final = len(_SHOWN) - 4
_FORMULA: Final = ("=", "+", "-", "@")


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
    until = escape(max((row["until"] for row in rows), default=""))
    said = f"Counted until {until}. In hours: cores, GiB, or units. {color_key('within min', 'borrowed')}"
    lines = ([str(row[name]) for name in _SHOWN] for row in rows)
    amounts = table(_TITLES, lines, len(_SHOWN) - _NUMBERS)
    return page(f"Accounts of {month}", f"<p>{said}</p>{pictures}<h2>All amounts</h2>{amounts}")


def _picture(rows: Sequence[Json]) -> str:
    """Return a bar for each group: what was used within min, and beyond it what was borrowed."""
    bars = [Bar(row["group"], (int(row["withinMin"]), int(row["borrowed"])), str(row["usedHours"])) for row in rows]
    return picture(bars, ", ".join(f"{row['group']} {row['usedHours']}" for row in rows))


def _plain(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
