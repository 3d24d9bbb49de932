"""Prints lists with kubectl's outputs and options: tables, names, paths, custom columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import click

from cli.render.data import print_data
from cli.render.paths import as_text, evaluate, values
from cli.render.terminal import cut, width
from shared.problems import Problem

T = TypeVar("T", bound=click.Command)
ListingRow = Mapping[str, Any]

OUTPUTS: Final = ("table", "wide", "name", "json", "yaml", "jsonpath=TEMPLATE", "custom-columns=TITLE:PATH,…")
_GAP: Final = 3
_LEAST_TEXT: Final = 12
"""A text that would have less than so many columns is left out."""


@dataclass(frozen=True, slots=True)
class ListColumn:
    """One column of a table: its title, the member that it shows, and whether only `-o wide` prints it.

    `rank`: on a narrow terminal the columns of the highest rank are left out first, those of rank 0 never. A `text` is
    cut before it is left out.
    """

    title: str
    member: str
    wide: bool = False
    rank: int = 0
    text: bool = False


@dataclass(frozen=True, slots=True)
class ListOutput:
    """How a list is printed. `shown_as`: the name in `-o`; `one_by_one`: a document for each row, as in a watch.

    `width`: the columns of the terminal; None: whatever a table needs.
    """

    shown_as: str = "table"
    headers: bool = True
    one_by_one: bool = False
    width: int | None = None

    def __post_init__(self) -> None:
        known = [each.partition("=")[0] for each in OUTPUTS]
        name, given, _ = self.shown_as.partition("=")
        if name not in known or bool(given) != (name in ("jsonpath", "custom-columns")):
            raise Problem(f"--output {self.shown_as!r} is not known; there are {', '.join(OUTPUTS)}")

    @property
    def is_table(self) -> bool:
        """Whether rows are printed rather than a document."""
        return self.shown_as in ("table", "wide", "name") or self.shown_as.startswith("custom-columns=")

    def print(self, rows: Sequence[ListingRow], columns: Sequence[ListColumn], name: str) -> None:
        """Print the rows; `name`: the member that names a row, of which `-o name` prints each once."""
        kind, _, template = self.shown_as.partition("=")
        if not self.is_table and self.one_by_one:
            for each in rows:
                self._document(each)
        elif not self.is_table:
            self._document({"items": list(rows)})
        elif kind == "name":
            for each in dict.fromkeys(row[name] for row in rows):
                click.echo(each)
        elif kind == "custom-columns":
            self._table(*_own_columns(template, rows))
        elif not rows and not self.one_by_one:
            click.echo("No resources found", err=True)
        else:
            shown = [each for each in columns if kind == "wide" or not each.wide]
            cells = [[_cell(row.get(each.member)) for each in shown] for row in rows]
            most = None if kind == "wide" else self.width
            self._table(*_fitted(shown, cells, most), most)

    def _document(self, data: Any) -> None:
        """Print `data`, or what a template selects from it."""
        kind, _, template = self.shown_as.partition("=")
        if kind == "jsonpath":
            click.echo(evaluate(template, data))
            return
        if kind == "yaml" and self.one_by_one:
            click.echo("---")
        print_data(data, "json" if kind == "json" else "yaml")

    def _table(self, titles: Sequence[str], cells: Sequence[Sequence[str]], most: int | None = None) -> None:
        """Print the lines; where even these columns are too many, each cell below the one before it."""
        lines = [list(titles), *cells] if self.headers else list(cells)
        widths = [max((len(line[at]) for line in lines), default=0) for at in range(len(titles))]
        if most is not None and sum(widths) + _GAP * (len(widths) - 1) > most:
            for first, *others in cells:
                click.echo("\n".join([first, *(f"  {each}" for each in others if each)]))
            return
        for line in lines:
            padded = (cell.ljust(width + _GAP) for cell, width in zip(line, widths, strict=True))
            click.echo("".join(padded).rstrip())


def _fitted(
    columns: Sequence[ListColumn], cells: Sequence[Sequence[str]], most: int | None
) -> tuple[list[str], list[list[str]]]:
    """Return titles and cells that fit into so many columns of a terminal; None: all."""
    lines = [[each.title for each in columns], *map(list, cells)]
    kept = list(range(len(columns)))

    def taken(places: Sequence[int]) -> int:
        return sum(max(len(line[at]) for line in lines) + _GAP for at in places) - _GAP

    while most is not None and taken(kept) > most and any(columns[at].rank for at in kept):
        worst = max(kept, key=lambda at: columns[at].rank)
        rest = [at for at in kept if at != worst]
        left = most - taken(rest) - _GAP
        if columns[worst].text and left >= _LEAST_TEXT:
            for line in lines:
                line[worst] = cut(line[worst], left)
            break
        kept = rest
    titles, *rows = [[line[at] for at in kept] for line in lines]
    return titles, rows


def _own_columns(template: str, rows: Sequence[ListingRow]) -> tuple[list[str], list[list[str]]]:
    pairs = [each.partition(":") for each in template.split(",")]
    if not all(title and path for title, _, path in pairs):
        raise Problem(f"custom-columns {template!r} is not TITLE:PATH,…, such as GROUP:.group,WHY:.reason")
    cells = [[",".join(map(as_text, values(path, dict(row)))) or "<none>" for _, _, path in pairs] for row in rows]
    return [title for title, _, _ in pairs], cells


def _cell(value: Any) -> str:
    return "" if value in (None, 0, "") else str(value)


def list_options(command: T) -> T:
    """Give a command -o and --no-headers; it receives them as `shown`, a ListOutput."""
    act = command.callback

    def callback(output: str, no_headers: bool, **others: Any) -> Any:
        return (
            act(shown=ListOutput(output, headers=not no_headers, width=width()), **others) if act is not None else None
        )

    command.callback = callback
    text = f"One of {', '.join(OUTPUTS)}."
    command.params.append(click.Option(["-o", "--output"], default="table", show_default=True, help=text))
    command.params.append(click.Option(["--no-headers"], is_flag=True, help="Print no titles."))
    return command
