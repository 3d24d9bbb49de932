"""A key that stands twice is found wherever it is and however it is written, and nothing else is taken for one."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.json.duplicate_keys import find_duplicate_key

TWICE: dict[str, tuple[bytes, str]] = {
    "at the top": (b'{"kind":"A","kind":"B"}', "kind"),
    "same value": (b'{"a":1,"a":1}', "a"),
    "in a list": (b'{"quotas":[{},{"min":{"cpu":1,"gpu":2,"cpu":3}}]}', "quotas[1].min.cpu"),
    "a key with dots": (b'{"min":{"nvidia.com/gpu":1,"nvidia.com/gpu":2}}', "min[nvidia.com/gpu]"),
    "written in two ways": (b'{"cpu":1,"c\\u0070u":2}', "cpu"),
    "beside what Go escapes": (b'{"command":"a \\u0026\\u0026 b","x":{"y":1,"y":2}}', "x.y"),
    "with spaces": (b'{ "a" : {"b": 1, "b": 2} }', "a.b"),
    "the first of two": (b'{"a":{"b":1,"b":2},"a":3}', "a"),
    "empty": (b'{"":1,"":2}', "[]"),
    "control signs": (b'{"\\n\\u202e":1,"\\n\\u202e":2}', "[\\n\\u202e]"),
}


@pytest.mark.parametrize(("text", "path"), TWICE.values(), ids=TWICE)
def test_duplicate_key_is_reported_with_its_path(text: bytes, path: str) -> None:
    assert find_duplicate_key(text) == path


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":{"a":1},"b":[{"a":1},{"a":1}]}\n',
        b'{"a":"\\u0026 < & \\u003c","b":"\\u2028"}',
        b'{"a":"\\"a\\":1,\\"a\\":1"}',
        b'{"a":1.50,"b":1e2,"c":-0}',
        b'{"a":' + b"9" * 30 + b"}",
        b"[" * 500 + b"]" * 500,
        b"{}",
        b"null",
    ],
)
def test_text_without_duplicate_keys_passes_in_any_formatting(text: bytes) -> None:
    assert find_duplicate_key(text) is None


def test_long_path_is_shortened_at_its_start() -> None:
    found = find_duplicate_key(b'{"a":' * 300 + b'{"far_below":1,"far_below":2}' + b"}" * 300)
    assert found == "..." + ("a." * 300 + "far_below")[-200:]


@pytest.mark.parametrize("text", [b"[" * 10_000, b'{"a":' * 10_000, b"[" * 10_000 + b"]" * 10_000])
def test_too_deeply_nested_text_is_an_error(text: bytes) -> None:
    with pytest.raises((RecursionError, ValueError)):
        find_duplicate_key(text)


@given(st.binary(max_size=100))
def test_invalid_json_is_an_error(text: bytes) -> None:
    with pytest.raises((RecursionError, ValueError)):
        find_duplicate_key(b"{[" + text)


KEYS = st.text(max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(KEYS, below, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_random_json_without_duplicate_keys_passes(value: Any, indent: int | None, ascii_only: bool) -> None:
    assert find_duplicate_key(json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()) is None
    assert find_duplicate_key(msgspec.json.encode(value)) is None


@given(VALUES, KEYS, VALUES, VALUES)
def test_duplicate_key_in_random_json_is_found(rest: Any, key: str, one: Any, other: Any) -> None:
    inner = f"{{{json.dumps(key)}:{json.dumps(one)},{json.dumps(key)}:{json.dumps(other)}}}"
    assert find_duplicate_key(f'{{"rest":{json.dumps(rest)},"list":[0,{inner}]}}'.encode()) is not None
