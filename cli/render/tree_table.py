"""Prints the tree as text: aligned, with a bar for each key; plain text without a terminal."""

from collections.abc import Iterable
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.render.tree_rows import KeyNumbers, Row, quantity

_BAR: Final = 16
_WIDE: Final = 200
"""The width when the output is not a terminal: nothing is truncated in a file or a pipe."""


def draw(rows: Iterable[Row]) -> None:
    """Print the tree to standard output."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDE)
    console.print(_table(rows))


def _table(rows: Iterable[Row]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("GROUP", "PENDING", "FLAVOR/RESOURCE", "MIN", "USED", "RUNTIME", "BORROWED", "USED OF RUNTIME"):
        is_number = title in ("PENDING", "MIN", "USED", "RUNTIME", "BORROWED")
        table.add_column(title, justify="right" if is_number else "left", no_wrap=True)
    for row in rows:
        table.add_row(_name(row), "" if row.pending is None else str(row.pending), *_cells(row.numbers))
    return table


def _name(row: Row) -> Text:
    text = Text(row.trunk, style="dim")
    text.append(row.name, style="bold")
    if row.note:
        text.append(f"  ({row.note})", style="yellow")
    return text


def _cells(numbers: KeyNumbers | None) -> list[str | Text]:
    if numbers is None:
        return []
    amounts = (numbers.min, numbers.used, numbers.runtime)
    borrowed = Text(quantity(numbers, numbers.borrowed) if numbers.borrowed else "", style="magenta")
    return [str(numbers.key), *(quantity(numbers, amount) for amount in amounts), borrowed, bar(numbers)]


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
