"""What the API server did, and when: spans, read from OpenTelemetry's messages.

Only the fields used are read. A message of Protocol Buffers is a list of fields: number, and an integer or bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_RESOURCE_SPANS, _SCOPE_SPANS, _SPANS = 1, 2, 2
_TRACE, _NAME, _BEGAN, _ENDED, _ATTRIBUTE, _EVENT = 1, 5, 7, 8, 9, 11
_FIXED: Final = {1: 8, 5: 4}
"""wire type → bytes of its number."""


@dataclass(frozen=True, slots=True)
class Span:
    """One thing done. `began`, `ended`: nanoseconds; `trace`: the request that it is part of; `events`: name →
    each time that it happened."""

    trace: bytes
    name: str
    began: int
    ended: int
    attributes: Mapping[str, str]
    events: Mapping[str, Sequence[int]]


def read_spans(message: bytes) -> Iterator[Span]:
    """Yield those of one ExportTraceServiceRequest."""
    for resource in _parts(message, _RESOURCE_SPANS):
        for scope in _parts(resource, _SCOPE_SPANS):
            yield from map(_span, _parts(scope, _SPANS))


def _span(message: bytes) -> Span:
    fields = dict(_fields(message))
    attributes = (dict(_fields(each)) for each in _parts(message, _ATTRIBUTE))
    events: dict[str, list[int]] = {}
    for each in _parts(message, _EVENT):
        event = dict(_fields(each))
        events.setdefault(_text(event.get(2)), []).append(_number(event.get(1)))
    return Span(
        _bytes(fields.get(_TRACE)),
        _bytes(fields.get(_NAME)).decode(),
        _number(fields.get(_BEGAN)),
        _number(fields.get(_ENDED)),
        {_text(each.get(1)): _text(dict(_fields(_bytes(each.get(2)))).get(1)) for each in attributes},
        events,
    )


def _parts(message: bytes, number: int) -> Iterator[bytes]:
    return (value for found, value in _fields(message) if found == number and isinstance(value, bytes))


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(message, at)
            yield number, value
        elif wire == 2:
            length, at = _varint(message, at)
            yield number, message[at : at + length]
            at += length
        else:
            yield number, int.from_bytes(message[at : at + _FIXED[wire]], "little")
            at += _FIXED[wire]


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return value, at


def _bytes(value: int | bytes | None) -> bytes:
    return value if isinstance(value, bytes) else b""


def _number(value: int | bytes | None) -> int:
    return value if isinstance(value, int) else 0


def _text(value: int | bytes | None) -> str:
    return _bytes(value).decode()
