"""AdmissionReviews are read whatever they hold, and answered within the API server's limits."""

import base64
import json
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.json.patches import add, drop_members, pointer, remove, set_members
from shared.api.review import (
    BadReview,
    ReviewOperation,
    fit_message,
    fit_warnings,
    read_review,
    write_allowed,
    write_denied,
)

REQUEST: dict[str, Any] = {
    "uid": "u-1",
    "kind": {"group": "batch", "version": "v1", "kind": "Job"},
    "operation": "CREATE",
    "namespace": "team-a",
    "userInfo": {"username": "alice", "groups": ["devs"], "extra": {"x": ["y"]}},
    "object": {"metadata": {"name": "n"}},
    "oldObject": None,
    "dryRun": True,
}


def body(**changes: Any) -> bytes:
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {**REQUEST, **changes}}
    ).encode()


def test_review_is_read_and_its_objects_stay_raw() -> None:
    review = read_review(body())
    assert (review.uid, review.operation, review.namespace, review.user_info.username, review.dry_run) == (
        "u-1",
        ReviewOperation.CREATE,
        "team-a",
        "alice",
        True,
    )
    assert str(review.kind) == "batch/v1 Job"
    assert (bytes(review.object), review.has_object, review.has_old_object) == (
        b'{"metadata": {"name": "n"}}',
        True,
        False,
    )


DEEP = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"object":' + b"[" * 10_000
HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the body is no AdmissionReview: Input data was truncated"),
    "no JSON": (b"hello", "the body is no AdmissionReview: JSON is malformed: invalid character (byte 0)"),
    "10,000 deep": (DEEP, "the body is no AdmissionReview: nested too deeply"),
    "invalid UTF-8": (b'{"kind":"\xff\xfe"}', "the body is no AdmissionReview: "),
    "null": (b"null", "the body is no AdmissionReview: Expected `object`, got `null`"),
    "list": (b"[]", "the body is no AdmissionReview: Expected `object`, got `array`"),
    "number out of range": (b'{"kind":1e999}', "the body is no AdmissionReview: "),
    "other kind": (
        b'{"apiVersion":"v1","kind":"Pod"}',
        "the body is 'v1 Pod'; only admission.k8s.io/v1 AdmissionReview is answered",
    ),
    "old version": (
        b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}',
        "the body is 'admission.k8s.io/v1beta1 AdmissionReview'; only admission.k8s.io/v1 AdmissionReview is answered",
    ),
    "no request": (
        b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
        "the AdmissionReview holds no request",
    ),
    "uid empty": (body(uid=""), "the request's uid has 0 characters; 1 to 128 are allowed"),
    "uid of a megabyte": (body(uid="x" * 2**20), "the request's uid has 1048576 characters; 1 to 128 are allowed"),
    "uid a number": (body(uid=7), "the body is no AdmissionReview: Expected `str`, got `int` - at `$.request.uid`"),
    "key twice in the envelope": (
        body().replace(b'"uid": "u-1"', b'"uid": "u-0", "uid": "u-1"'),
        "the body writes request.uid twice; leave one of the two out",
    ),
    "key twice in the object": (
        body().replace(b'{"name": "n"}', b'{"labels": {"quotree.dev/group": "a", "quotree.dev/group": "b"}}'),
        "the body writes request.object.metadata.labels[quotree.dev/group] twice; leave one of the two out",
    ),
    "8 MiB of empty objects": (
        body(object=[]).replace(b'"object": []', b'"object": [' + b"{}," * (2**23 // 3) + b"{}]"),
        "the body has 5592426 objects, lists and commas; at most 500000 are read",
    ),
    "operation unheard of": (body(operation="FROB"), "the body is no AdmissionReview: Invalid enum value 'FROB'"),
}


@pytest.mark.parametrize(("hostile", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_bodies_are_refused_with_a_readable_message(hostile: bytes, message: str) -> None:
    with pytest.raises(BadReview) as refused:
        read_review(hostile)
    assert str(refused.value).startswith(message)


def test_missing_uid_is_refused() -> None:
    with pytest.raises(BadReview) as refused:
        read_review(b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"operation":"CREATE"}}')
    assert str(refused.value) == (
        "the body is no AdmissionReview: Object missing required field `uid` - at `$.request`"
    )


@given(st.binary(max_size=200))
def test_any_bytes_are_either_read_or_refused(hostile: bytes) -> None:
    with pytest.raises(BadReview):
        read_review(hostile)


def test_response_has_the_patch_as_base64() -> None:
    answer = json.loads(write_allowed("u", [add(("spec", "suspend"), value=True)], ["careful"], {"group": "vision"}))
    patch = answer["response"].pop("patch")
    assert json.loads(base64.b64decode(patch)) == [{"op": "add", "path": "/spec/suspend", "value": True}]
    assert answer == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": "u",
            "allowed": True,
            "patchType": "JSONPatch",
            "warnings": ["careful"],
            "auditAnnotations": {"group": "vision"},
        },
    }


def test_plain_allow_has_no_other_field() -> None:
    assert json.loads(write_allowed("u"))["response"] == {"uid": "u", "allowed": True}


def test_denial_has_code_reason_and_message() -> None:
    assert json.loads(write_denied("u", 403, "Forbidden", "not today"))["response"] == {
        "uid": "u",
        "allowed": False,
        "status": {"code": 403, "reason": "Forbidden", "message": "not today"},
    }


def test_warnings_fit_the_limits_of_the_api_server() -> None:
    fitted = fit_warnings(["short", "two\nlines", "word " * 100, "ü" * 300, *["x" * 250] * 40])
    assert fitted[:2] == ("short", "two lines")
    assert fitted[2] == "word " * 50 + "word…"
    assert fitted[3] == "ü" * 255 + "…"
    assert max(len(each) for each in fitted) <= 256
    assert sum(len(each.encode()) for each in fitted) <= 4096


def test_message_is_cut_at_4_kb_between_characters() -> None:
    assert fit_message("ü" * 2048) == "ü" * 2048
    assert fit_message("ü" * 2049) == "ü" * 2046 + "…"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("metadata", "labels", "quotree.dev/group"), "/metadata/labels/quotree.dev~1group"),
        (("a~b", "c/d~1"), "/a~0b/c~1d~01"),
        (("list", 0, "-"), "/list/0/-"),
        ((), ""),
    ],
)
def test_json_pointer_is_escaped(path: tuple[str | int, ...], text: str) -> None:
    assert pointer(path) == text


@given(
    st.one_of(st.none(), st.dictionaries(st.text(max_size=5), st.integers(0, 3))),
    st.dictionaries(st.text(max_size=5), st.integers(0, 3)),
    st.lists(st.text(max_size=5), unique=True),
)
def test_members_with_any_name_are_set_and_removed(
    present: dict[str, int] | None, wanted: dict[str, int], names: list[str]
) -> None:
    before = {"metadata": {} if present is None else {"labels": present}}
    operations = set_members(("metadata", "labels"), present, wanted)
    after = jsonpatch.apply_patch(before, operations)
    expected = {**(present or {}), **wanted}
    assert after["metadata"].get("labels", {}) == expected
    dropped = jsonpatch.apply_patch(after, drop_members(("metadata", "labels"), expected or None, names))
    assert dropped["metadata"].get("labels", {}) == {k: v for k, v in expected.items() if k not in names}


def test_empty_update_gives_no_operation() -> None:
    assert set_members(("metadata", "labels"), {"a": "b"}, {"a": "b"}) == []
    assert remove(("a",)) == {"op": "remove", "path": "/a"}
