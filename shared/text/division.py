"""Prints the division of a group's runtime: for each key a table of its siblings that adds up."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shared.text.quantities import readable

_HEAD = ("GROUP", "MIN", "WEIGHT", "DEMAND", "FLOOR")


def lines(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tables of one group."""
    if not data["division"]:
        yield f"group {data['group']}: nothing is divided: it is root, does not reach root, or has no quota"
    if data.get("amended"):
        yield f"overrides and windows of {data['group']}: {data['amended']}"
    for table in data["division"]:
        yield from _table(data["group"], table)


def _table(group: str, table: Mapping[str, Any]) -> Iterator[str]:
    resource = table["resource"]

    def text(amount: int) -> str:
        return readable(resource, amount)

    by = "min, because the floors exceed it" if table["sharedBy"] == "min" else "weight, after the floors"
    turn = f"; {table['turn']} has a turn and gets what that needs first" if table.get("turn") else ""
    yield f"{table['flavor']}/{resource}: {table['parent']} has {text(table['runtime'])}, shared by {by}{turn}"
    count = max(len(each["rounds"]) for each in table["children"])
    rounds = [f"ROUND {number}" for number in range(1, count + 1)]
    rows: list[Sequence[str]] = [(*_HEAD, "FIRST", *rounds, "RUNTIME")]
    for each in table["children"]:
        name = f"> {each['group']}" if each["group"] == group else f"  {each['group']}"
        steps = (each["first"], *each["rounds"], each["runtime"])
        rows.append((name, *(text(each[word]) for word in ("min", "weight", "demand", "floor")), *map(text, steps)))
    sums = [sum(step) for step in zip(*((each["first"], *each["rounds"]) for each in table["children"]), strict=True)]
    rows.append(("  together", "", "", "", "", *map(text, sums), text(table["runtime"] - table["left"])))
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        first, *others = row
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()
    yield f"  left: {text(table['left'])}"
