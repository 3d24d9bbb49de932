"""Whether JSON text writes a key twice, and where: a reader keeps one of the two, and who wrote it may mean the other.

Nearly all text is as Kubernetes itself writes it. What is decoded and encoded again to the same bytes has no key twice,
for nothing encodes one so; that is four times faster than to look at every key. Other text is looked at in full.
"""

import json
from contextlib import suppress
from typing import Any, Final

import msgspec

from shared.api.json.patches import FieldPath

_MAX_SHOWN: Final = 200
_GO_ESCAPES: Final = ((b"&", b"\\u0026"), (b"<", b"\\u003c"), (b">", b"\\u003e"))
"""Go writes these so everywhere, and they occur in strings only."""

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def find_duplicate_key(text: bytes) -> str | None:
    """Return the path of a key that an object in `text` has twice, like spec.quotas[0].min[nvidia.com/gpu], or None.

    Raises ValueError or RecursionError when `text` is no JSON, or nested too deeply to be read.
    """
    again: bytes = _encode(_decode(text))
    if b"\\u00" in text:
        for sign, escape in _GO_ESCAPES:
            again = again.replace(sign, escape)
    if again == text.rstrip():
        return None
    whole = text.decode()
    with suppress(_Twice):
        _decoder(_stop_at_twice).decode(whole)
        return None
    return _shown(_within(_decoder(_place).decode(whole)) or ())


class _Twice(Exception):
    """Some object has a key twice."""


def _decoder(hook: Any) -> json.JSONDecoder:
    """Numbers are not worked out: one may have millions of digits."""
    return json.JSONDecoder(object_pairs_hook=hook, parse_int=len, parse_float=len)


def _stop_at_twice(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _Twice


def _place(pairs: list[tuple[str, Any]]) -> FieldPath | None:
    """Return where in this object a key occurs twice.

    JSON has no tuples: one among the values is such a place already.
    """
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return (key,)
        seen.add(key)
    places = ((key, _within(value)) for key, value in pairs)
    return next(((key, *place) for key, place in places if place is not None), None)


def _within(value: Any) -> FieldPath | None:
    if isinstance(value, list):
        places = ((at, _within(item)) for at, item in enumerate(value))
        return next(((at, *place) for at, place in places if place is not None), None)
    return value if isinstance(value, tuple) else None


def _shown(path: FieldPath) -> str:
    """As a manifest's reader would write it: at most so long, and in ASCII without control signs."""
    steps = (f".{each}" if isinstance(each, str) and each.isidentifier() else f"[{each}]" for each in path)
    text = "".join(steps).removeprefix(".")
    return ascii(text if len(text) <= _MAX_SHOWN else f"...{text[-_MAX_SHOWN:]}")[1:-1]
