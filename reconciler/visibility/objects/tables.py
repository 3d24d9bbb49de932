"""Objects as the Tables that kubectl prints."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from reconciler.visibility.objects.kinds import TableColumn, VisibleKind
from shared.json_data import Json
from shared.text.forecast import start_cell
from shared.text.times import age_text

TABLE: Final = "meta.k8s.io/v1"


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
    shown = "string" if kind in ("date", "forecast") else kind
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
        return age_text(datetime.fromisoformat(status["asOf"]) - datetime.fromisoformat(value))
    return start_cell(value) if column.type == "forecast" else value
