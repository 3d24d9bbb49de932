"""Whether a manifest has the shape its schema asks for: every field that has not, at once, and the manifest less those.

The same schema the API server enforces, for files that never met an API server. Bounds on counts and the CEL rules are
left to the rules of the model, which say more, and so are names and labels.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from shared.api.crds.parts import Schema
from shared.api.durations import DURATION_PATTERN, is_duration

LEFT_OUT: Final = object()
"""What stands for a value that is not usable."""

_TYPES: Final[dict[str, type]] = {"string": str, "boolean": bool, "integer": int, "object": Mapping, "array": list}
_WORDS: Final = {
    "string": "text",
    "boolean": "true or false",
    "integer": "a whole number",
    "object": "a mapping",
    "array": "a list",
}


class Misshapen(NamedTuple):
    """One field that is not as the schema wants it."""

    field: str
    message: str


def fit(value: Any, schema: Schema, field: str, found: list[Misshapen]) -> Any:
    """`value` less everything that `schema` does not allow there; LEFT_OUT if nothing is left. Adds to `found`."""
    if schema.get("x-kubernetes-int-or-string"):
        fits = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        return value if fits else _refuse(found, field, f"is {_shown(value)}; write a quantity such as 4, 500m or 16Gi")
    kind = schema["type"]
    if not _is(value, kind):
        return _refuse(found, field, f"is {_shown(value)}; write {_WORDS[kind]}")
    if kind == "array":
        items = (fit(item, schema["items"], f"{field}[{at}]", found) for at, item in enumerate(value))
        return [item for item in items if item is not LEFT_OUT]
    if kind == "object":
        fields = dict(_fields(value, schema, field, found))
        return fields if all(name in fields for name in schema.get("required", ())) else LEFT_OUT
    return _scalar(value, schema, field, found)


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _fields(value: Mapping[Any, Any], schema: Schema, field: str, found: list[Misshapen]) -> Iterator[tuple[str, Any]]:
    known: Mapping[str, Schema] = schema.get("properties", {})
    others: Schema | None = schema.get("additionalProperties")
    for name in schema.get("required", ()):
        if value.get(name) is None:
            _refuse(found, _join(field, name), "is missing")
    for key, item in value.items():
        if not isinstance(key, str):
            _refuse(found, field, f"has the key {_shown(key)}; write it as text, in quotes")
        elif item is None:
            continue
        elif key in known:
            kept = fit(item, known[key], _join(field, key), found)
            if kept is not LEFT_OUT:
                yield key, kept
        elif others is not None:
            kept = fit(item, others, f"{field}[{key}]", found)
            if kept is not LEFT_OUT:
                yield key, kept
        elif known:
            _refuse(found, _join(field, key), f"is no field; {field} has {', '.join(sorted(known))}")
        else:
            yield key, item


def _scalar(value: Any, schema: Schema, field: str, found: list[Misshapen]) -> Any:
    if "enum" in schema and value not in schema["enum"]:
        return _refuse(found, field, f"is {_shown(value)}; write one of {', '.join(schema['enum'])}")
    if schema.get("pattern") == DURATION_PATTERN and not is_duration(value):
        return _refuse(found, field, f"is {_shown(value)}; write a duration such as 30s, 5m or 1h30m")
    low, high = schema.get("minimum"), schema.get("maximum")
    if (low is not None and value < low) or (high is not None and value > high):
        return _refuse(found, field, f"is {_shown(value)}; write a number from {low} to {high}")
    return value


def _refuse(found: list[Misshapen], field: str, message: str) -> Any:
    found.append(Misshapen(field, message))
    return LEFT_OUT


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _join(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name
