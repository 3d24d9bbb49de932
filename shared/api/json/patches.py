"""How a change is written as JSON Patch (RFC 6902) operations, built by hand for the few edits Quotree makes.

Paths are tuples of keys and are escaped here. Operations that set a member create the objects above it when the
caller says which of them are absent.
"""

from collections.abc import Iterable, Mapping
from typing import Any

Operation = dict[str, Any]
FieldPath = tuple[str | int, ...]
"""The keys and indices that lead to a field."""


def pointer(path: Iterable[str | int]) -> str:
    """Return the JSON pointer of a path: ("metadata", "labels", "a/b") is /metadata/labels/a~1b."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def add(path: Iterable[str | int], value: Any) -> Operation:
    """Set a member, or insert into a list; the object above must exist."""
    return {"op": "add", "path": pointer(path), "value": value}


def remove(path: Iterable[str | int]) -> Operation:
    """Take a member away; it must exist."""
    return {"op": "remove", "path": pointer(path)}


def test(path: Iterable[str | int], value: Any) -> Operation:
    """Fail the whole patch unless the member has this value."""
    return {"op": "test", "path": pointer(path), "value": value}


test.__test__ = False  # type: ignore[attr-defined]


def set_members(
    path: tuple[str | int, ...], present: Mapping[str, Any] | None, wanted: Mapping[str, Any]
) -> list[Operation]:
    """Give the mapping at `path` every member of `wanted`; `present` is what it holds now, None when it is absent.

    Members that are right already give no operation.
    """
    missing = {key: value for key, value in wanted.items() if present is None or present.get(key) != value}
    if not missing:
        return []
    if present is None:
        return [add(path, missing)]
    return [add((*path, key), value) for key, value in missing.items()]


def drop_members(
    path: tuple[str | int, ...], present: Mapping[str, Any] | None, names: Iterable[str]
) -> list[Operation]:
    """Take those of `names` away that the mapping at `path` holds."""
    return [remove((*path, name)) for name in names if present is not None and name in present]
