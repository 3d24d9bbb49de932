"""Which `test` operation of a JSON Patch does not hold on a document (RFC 6902, RFC 6901).

The API server answers 422 with reason Invalid both for a failed test and for an invalid result; only the message
differs. Reading the object again and testing here avoids parsing it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_ABSENT = object()


def first_failed_test(document: object, operations: Sequence[Mapping[str, Any]]) -> str | None:
    """Describe the first test that fails on the document, or None."""
    for operation in operations:
        if operation.get("op") != "test":
            continue
        path, expected = str(operation.get("path", "")), operation.get("value")
        found = _resolve(document, path)
        if found is _ABSENT:
            if expected is not None:
                return f"{path} is absent, expected {expected!r}"
        elif not _same(found, expected):
            return f"{path} is {found!r}, expected {expected!r}"
    return None


def _resolve(document: object, pointer: str) -> object:
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and key in document:
            document = document[key]
        elif isinstance(document, list) and key.isascii() and key.isdigit() and int(key) < len(document):
            document = document[int(key)]
        else:
            return _ABSENT
    return document


def _same(left: object, right: object) -> bool:
    """Equality of JSON: unlike Python's, true is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_same(*pair) for pair in zip(left, right, strict=True))
    return isinstance(left, bool) == isinstance(right, bool) and left == right
