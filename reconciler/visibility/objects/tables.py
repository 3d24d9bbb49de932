"""Objects as the Tables that kubectl prints."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from reconciler.visibility.objects.kinds import TableColumn, VisibleKind
from shared.json_data import Json

TABLE: Final = "meta.k8s.io/v1"
_STEPS: Final = (
    (timedelta(minutes=2), 1, "s", 0, ""),
    (timedelta(minutes=10), 60, "m", 1, "s"),
    (timedelta(hours=3), 60, "m", 0, ""),
    (timedelta(hours=8), 3600, "h", 60, "m"),
    (timedelta(hours=48), 3600, "h", 0, ""),
    (timedelta(days=8), 86400, "d", 3600, "h"),
    (timedelta.max, 86400, "d", 0, ""),
)
"""(maximum age, seconds of a unit, its letter, seconds of the smaller unit or 0, its letter)."""


def table(kind: VisibleKind, objects: Iterable[Json], metadata: Json, include: str, *, titles: bool = True) -> Json:
    """Return the Table. `include`: None, Metadata or Object, like `includeObject`. Without `titles`: rows only."""
    definitions = [_definition("Name", "string", "name", wide=False)]
    definitions += [_definition(each.title, each.type, "", wide=each.wide) for each in kind.columns]
    return {
        "kind": "Table",
        "apiVersion": TABLE,
        "metadata": metadata,
        "columnDefinitions": definitions if titles else [],
        "rows": [_row(kind, each, include) for each in objects],
    }


def _definition(title: str, kind: str, form: str, *, wide: bool) -> Json:
    shown = "string" if kind == "date" else kind
    return {"name": title, "type": shown, "format": form, "description": title, "priority": int(wide)}


def _row(kind: VisibleKind, item: Json, include: str) -> Json:
    row: Json = {"cells": [item["metadata"]["name"], *(_cell(each, item["status"]) for each in kind.columns)]}
    if include == "Object":
        row["object"] = item
    elif include != "None":
        metadata = {"kind": "PartialObjectMetadata", "apiVersion": TABLE, "metadata": item["metadata"]}
        row["object"] = metadata
    return row


def _cell(column: TableColumn, status: Json) -> Any:
    value = status.get(column.member)
    if value in (None, column.empty):
        return ""
    if column.type == "date":
        return readable_age(datetime.fromisoformat(status["asOf"]) - datetime.fromisoformat(value))
    return value


def readable_age(age: timedelta) -> str:
    """Return an age formatted like kubectl: 45s, 3m20s, 25m, 5h12m, 30h, 4d2h, 12d."""
    seconds = max(0, int(age.total_seconds()))
    for limit, unit, letter, smaller, smaller_letter in _STEPS:
        if age < limit:
            text = f"{seconds // unit}{letter}"
            rest = seconds % unit // smaller if smaller else 0
            return f"{text}{rest}{smaller_letter}" if rest else text
    raise AssertionError("unreachable")
