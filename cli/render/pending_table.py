"""Print what waits, for people."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDE: Final = 250


def draw(found: Iterable[Mapping[str, Any]]) -> None:
    """Print the table to standard output; nothing is cut off."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("GROUP", "PLACE", "WORKLOAD", "REASON", "MESSAGE"):
        table.add_column(title, justify="right" if title == "PLACE" else "left", no_wrap=title != "MESSAGE")
    for each in found:
        place = str(each["position"] or "")
        text = each["message"].partition(" waits: ")[2]
        table.add_row(*(Text(cell) for cell in (each["group"], place, each["workload"], each["reason"], text)))
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDE)
    console.print(table)
