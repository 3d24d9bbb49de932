"""Prints the tree as text: aligned, with a bar for each key; plain text without a terminal.

On a narrow terminal names and numbers stay: the bar goes first, then other columns, and resources lose their domain.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.render.tree.tree_rows import KeyNumbers, Row, percents_text, quantity

_BAR: Final = 16
_BAR_TITLE: Final = "USED OF RUNTIME"
_KEY: Final = "FLAVOR/RESOURCE"
_PERCENTS: Final = "PERCENTS"
"""Only where nothing is left out, and some limit is a percent."""
_TITLES: Final = ("GROUP", "PENDING", _KEY, "MIN", "USED", "RUNTIME", "BORROWED", _PERCENTS, _BAR_TITLE)
_LEFT: Final = ("GROUP", _KEY, _PERCENTS, _BAR_TITLE)
_WIDE: Final = 200
"""The width at least where nothing is left out: in a file or a pipe."""
_GAP: Final = 2
_LEAST_KEY: Final = 4
_DOMAINS: Final = "without domains"
_JOINED: Final = "USED/OF"
"""The title of used and runtime in one column."""
_STEPS: Final = (_BAR_TITLE, _DOMAINS, "PENDING", "BORROWED", "MIN", "RUNTIME")
"""What a narrow terminal does without, in this order."""


def draw(rows: Iterable[Row], columns: int | None) -> None:
    """Print the tree to standard output, in so many columns; None: in as many as it needs."""
    found = list(rows)
    needed = max(_natural_width(found, _not_shown(found, columns)), _WIDE)
    Console(highlight=False, width=columns or needed).print(table(found, columns))


def table(rows: Sequence[Row], columns: int | None) -> Table:
    """Return the table that fits into so many columns; None: whole."""
    left_out = _not_shown(rows, columns)
    for step in _STEPS:
        if columns is None or _natural_width(rows, left_out) <= columns:
            break
        left_out.append(step)
    shown = [title for title in _TITLES if title not in left_out]
    made = Table(box=None, pad_edge=False, header_style="bold")
    every = [_cells(row, left_out) for row in rows]
    beyond = 0 if columns is None else _natural_width(rows, left_out) - columns
    for title in shown:
        justify: Literal["left", "right"] = "left" if title in _LEFT else "right"
        # A key that is cut is read all the same; a number that is cut is another one.
        most = max(_LEAST_KEY, max((len(cells[title]) for cells in every), default=0) - beyond)
        cut = most if title == _KEY and beyond > 0 else None
        made.add_column(_title(title, left_out), justify=justify, no_wrap=True, max_width=cut)
    for cells in every:
        made.add_row(*(cells[title] for title in shown))
    return made


def _not_shown(rows: Sequence[Row], columns: int | None) -> list[str]:
    has_percents = any(row.numbers is not None and row.numbers.percents for row in rows)
    return [] if columns is None and has_percents else [_PERCENTS]


def _natural_width(rows: Sequence[Row], left_out: Sequence[str]) -> int:
    shown = [title for title in _TITLES if title not in left_out]
    cells = [_cells(row, left_out) for row in rows]
    widths = [max([len(_title(title, left_out)), *(len(each[title]) for each in cells)]) for title in shown]
    return sum(widths) + _GAP * (len(shown) - 1)


def _title(title: str, left_out: Sequence[str]) -> str:
    if title == "USED" and "RUNTIME" in left_out:
        return _JOINED
    return "KEY" if title == _KEY and _DOMAINS in left_out else title


def _cells(row: Row, left_out: Sequence[str]) -> dict[str, Text]:
    found = dict.fromkeys(_TITLES, Text(""))
    found["GROUP"] = _name(row)
    found["PENDING"] = Text("" if row.pending is None else str(row.pending))
    numbers = row.numbers
    if numbers is None:
        return found
    flavor, resource = numbers.key
    short = resource.rpartition("/")[2] if _DOMAINS in left_out else resource
    used, runtime = quantity(numbers, numbers.used), quantity(numbers, numbers.runtime)
    return found | {
        _KEY: Text(f"{flavor}/{short}"),
        "MIN": Text(quantity(numbers, numbers.min)),
        "USED": Text(f"{used}/{runtime}" if "RUNTIME" in left_out else used),
        "RUNTIME": Text(runtime),
        "BORROWED": Text(quantity(numbers, numbers.borrowed) if numbers.borrowed else "", style="magenta"),
        _PERCENTS: Text(percents_text(numbers)),
        _BAR_TITLE: bar(numbers),
    }


def _name(row: Row) -> Text:
    text = Text(row.trunk, style="dim")
    text.append(row.name, style="bold")
    if row.note:
        text.append(f"  ({row.note})", style="yellow")
    return text


def bar(numbers: KeyNumbers) -> Text:
    """Draw the own use, the borrowed use, and the unused part of the runtime."""
    total = max(numbers.min, numbers.used, numbers.runtime)
    if not total:
        return Text("")

    def cells(amount: int) -> int:
        return -(-_BAR * amount // total)

    own, used, runtime = cells(numbers.used - numbers.borrowed), cells(numbers.used), cells(numbers.runtime)
    text = Text("█" * own, style="green")
    text.append("▓" * (used - own), style="magenta")
    text.append("░" * max(0, runtime - used), style="dim")
    return text
