"""Read AdmissionReviews and write their answers (admission.k8s.io/v1).

The objects stay raw bytes until a judge reads the fields it needs; that no key occurs in them twice is checked at once,
so that two readers cannot understand one review differently. Limits of the API server: a warning has at most 256
characters and all together 4 KiB; longer ones are cut there, so they are cut here, at a word.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from shared.api.json.duplicate_keys import find_duplicate_key
from shared.api.json.reading import View

API_VERSION: Final = "admission.k8s.io/v1"
MAX_WARNING: Final = 256
MAX_WARNINGS: Final = 4096
MAX_MESSAGE: Final = 4096
MAX_UID: Final = 128
MAX_SIGNS: Final = 500_000
"""Of "{", "[" and "," in a review: so many bound the time and memory of reading it. Real objects have far fewer."""
NULL: Final = b"null"


class ReviewOperation(StrEnum):
    """What is being done to the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class ReviewedKind(View, frozen=True):
    """Group, version and kind."""

    group: str = ""
    version: str = ""
    kind: str = ""

    def __str__(self) -> str:
        return f"{self.group}/{self.version} {self.kind}" if self.group else f"{self.version} {self.kind}"


class ReviewedResource(View, frozen=True):
    """API group and plural; of a subresource, those of the object that it belongs to."""

    group: str = ""
    resource: str = ""


class User(View, frozen=True):
    """Who sent the request."""

    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class Review(View, frozen=True):
    """One request of the API server for a verdict."""

    uid: str
    kind: ReviewedKind
    operation: ReviewOperation
    resource: ReviewedResource = ReviewedResource()
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    user_info: User = User()
    object: msgspec.Raw = msgspec.Raw(NULL)
    old_object: msgspec.Raw = msgspec.Raw(NULL)
    dry_run: bool = False

    @property
    def has_object(self) -> bool:
        """Whether there is an object: not on DELETE."""
        return bytes(self.object) != NULL

    @property
    def has_old_object(self) -> bool:
        """Whether there is a stored object: not on CREATE."""
        return bytes(self.old_object) != NULL


class _ReviewEnvelope(View, frozen=True):
    api_version: str = ""
    kind: str = ""
    request: Review | None = None


class BadReview(ValueError):
    """This is no AdmissionReview that can be answered; the message says why."""


_decode = msgspec.json.Decoder(_ReviewEnvelope).decode


def read_review(body: bytes) -> Review:
    """Read an AdmissionReview. Raises BadReview, and nothing else, whatever the bytes."""
    signs = len(body) if len(body) <= MAX_SIGNS else body.count(b"{") + body.count(b"[") + body.count(b",")
    if signs > MAX_SIGNS:
        raise BadReview(f"the body has {signs} objects, lists and commas; at most {MAX_SIGNS} are read")
    try:
        envelope, twice = _decode(body), find_duplicate_key(body)
    except ValueError as error:
        raise BadReview(f"the body is no AdmissionReview: {error}") from error
    except RecursionError as error:
        raise BadReview("the body is no AdmissionReview: nested too deeply") from error
    if twice is not None:
        raise BadReview(f"the body writes {twice} twice; leave one of the two out")
    if envelope.api_version != API_VERSION or envelope.kind != "AdmissionReview":
        what = f"{envelope.api_version[:63]} {envelope.kind[:63]}"
        raise BadReview(f"the body is {what!r}; only {API_VERSION} AdmissionReview is answered")
    if envelope.request is None:
        raise BadReview("the AdmissionReview holds no request")
    if not 0 < len(envelope.request.uid) <= MAX_UID:
        raise BadReview(f"the request's uid has {len(envelope.request.uid)} characters; 1 to {MAX_UID} are allowed")
    return envelope.request


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    retry_after_seconds: int


class _Status(msgspec.Struct, frozen=True, omit_defaults=True):
    code: int
    reason: str
    message: str
    details: _Details | None = None


class _Answer(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    uid: str
    allowed: bool
    status: _Status | None = None
    patch: bytes | None = None
    patch_type: str | None = None
    warnings: tuple[str, ...] = ()
    audit_annotations: Mapping[str, str] = {}


class _AnswerEnvelope(msgspec.Struct, frozen=True, rename="camel"):
    response: _Answer
    api_version: str = API_VERSION
    kind: str = "AdmissionReview"


_encode = msgspec.json.Encoder().encode


def write_allowed(
    uid: str,
    operations: Sequence[Mapping[str, Any]] = (),
    warnings: Iterable[str] = (),
    audit: Mapping[str, str] | None = None,
) -> bytes:
    """Return the answer "yes", with a JSON Patch where `operations` holds any."""
    patch = _encode(operations) if operations else None
    kind = "JSONPatch" if operations else None
    answer = _Answer(
        uid,
        allowed=True,
        patch=patch,
        patch_type=kind,
        warnings=fit_warnings(warnings),
        audit_annotations=audit or {},
    )
    return _encode(_AnswerEnvelope(answer))


def write_denied(  # noqa: PLR0913
    uid: str,
    code: int,
    reason: str,
    message: str,
    *,
    warnings: Iterable[str] = (),
    audit: Mapping[str, str] | None = None,
    retry_after: int = 0,
) -> bytes:
    """Return the answer "no", with the HTTP status the user's client gets and the sentence it shows.

    `retry_after`: after so many seconds a client asks again by itself, if it knows the header; 0: not said.
    """
    status = _Status(code, reason, fit_message(message), _Details(retry_after) if retry_after else None)
    return _encode(
        _AnswerEnvelope(
            _Answer(uid, allowed=False, status=status, warnings=fit_warnings(warnings), audit_annotations=audit or {})
        )
    )


def fit_message(message: str) -> str:
    """At most 4 KB of UTF-8, cut with a mark."""
    encoded = message.encode("utf-8", "replace")
    if len(encoded) <= MAX_MESSAGE:
        return message
    return encoded[: MAX_MESSAGE - 3].decode("utf-8", "ignore") + "…"


def fit_warnings(warnings: Iterable[str]) -> tuple[str, ...]:
    """Return them as the API server shows them: each at most 256 characters, together at most 4 KiB, no line breaks."""
    fitted: list[str] = []
    left = MAX_WARNINGS
    for warning in warnings:
        line = " ".join(warning.split())
        if len(line) > MAX_WARNING:
            line = line[: MAX_WARNING - 1].rsplit(" ", 1)[0][: MAX_WARNING - 1] + "…"
        left -= len(line.encode("utf-8", "replace"))
        if left < 0:
            break
        fitted.append(line)
    return tuple(fitted)
