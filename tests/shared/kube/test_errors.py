"""Errors are distinguished by status code and reason, and keep the whole message of the API server."""

from datetime import timedelta

import pytest

from shared.kube.errors import (
    AlreadyExists,
    ApiError,
    Cause,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    error_from_answer,
)


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", ApiError),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (405, "MethodNotAllowed", ApiError),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Gone", Gone),
        (410, "Expired", Gone),
        (413, "RequestEntityTooLarge", ApiError),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", Unavailable),
        (503, "ServiceUnavailable", Unavailable),
        (504, "Timeout", Unavailable),
    ],
)
def test_code_and_reason_select_the_error_class(code: int, reason: str, kind: type[ApiError]) -> None:
    body = f'{{"kind":"Status","code":{code},"reason":"{reason}","message":"m"}}'.encode()
    error = error_from_answer(code, body, request="PATCH jobs.batch a/b")
    assert type(error) is kind
    assert (error.status, error.reason, error.message) == (code, reason, "m")
    assert str(error) == f"PATCH jobs.batch a/b: {code} {reason}: m"


def test_causes_are_kept() -> None:
    body = (
        b'{"kind":"Status","reason":"Invalid","message":"m","details":{"causes":['
        b'{"reason":"FieldValueInvalid","message":"bad","field":"spec.x"},{"reason":"DisruptionBudget"}]}}'
    )
    error = error_from_answer(422, body)
    assert error.causes == (Cause("FieldValueInvalid", "bad", "spec.x"), Cause("DisruptionBudget", "", ""))
    assert error.has_cause("DisruptionBudget")
    assert not error.has_cause("Other")


@pytest.mark.parametrize(
    ("header", "details", "wait"),
    [
        ("7", "{}", 7),
        (None, '{"retryAfterSeconds":3}', 3),
        ("2", '{"retryAfterSeconds":3}', 3),
        ("Wed, 21 Oct 2015 07:28:00 GMT", "{}", None),
        ("-1", "{}", None),
        ("99999", '{"retryAfterSeconds":999999999999}', 60),
        ("٣", "{}", None),
        (None, "{}", None),
    ],
)
def test_longer_retry_after_counts(header: str | None, details: str, wait: int | None) -> None:
    body = f'{{"kind":"Status","reason":"TooManyRequests","details":{details}}}'.encode()
    expected = None if wait is None else timedelta(seconds=wait)
    assert error_from_answer(429, body, header).retry_after == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"upstream connect error", "upstream connect error"),
        (b"", "no explanation given"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b'{"kind":"Other","message":"x"}', '{"kind":"Other","message":"x"}'),
        (b'{"kind":"Status","message":[]}', '{"kind":"Status","message":[]}'),
    ],
)
def test_response_that_is_no_status_is_quoted(body: bytes, message: str) -> None:
    error = error_from_answer(502, body)
    assert (type(error), error.message) == (Unavailable, message)
