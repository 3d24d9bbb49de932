"""Refusals of the API server as exceptions, distinguished by status code and reason, never by message."""

from dataclasses import dataclass
from datetime import timedelta

import msgspec

from shared.problems import Problem


class ConnectionProblem(Problem):
    """The API server is unreachable with this kubeconfig, context, credentials or network."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of a Status: `reason` is machine-readable, `field` a path such as spec.quotas[0].min, or empty."""

    reason: str
    message: str
    field: str


class ApiError(Exception):
    """A response that is no success. `status` is the HTTP code, 0 without a response."""

    def __init__(  # noqa: PLR0913
        self,
        status: int,
        reason: str,
        message: str,
        *,
        causes: tuple[Cause, ...] = (),
        retry_after: timedelta | None = None,
        request: str = "",
    ) -> None:
        super().__init__(status, reason, message)
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = causes
        self.retry_after = retry_after
        self.request = request

    def __str__(self) -> str:
        what = " ".join(part for part in (str(self.status or ""), self.reason) if part)
        return f"{self.request}: {what}: {self.message}" if self.request else f"{what}: {self.message}"

    def has_cause(self, reason: str) -> bool:
        """Is `reason` among the causes, such as DisruptionBudget for a refused eviction?"""
        return any(cause.reason == reason for cause in self.causes)


class Conflict(ApiError):
    """The object is not as the writer saw it: another resourceVersion, uid, or a failed `test`."""


class PatchTestFailed(Conflict):
    """A JSON Patch was not applied because one of its `test` operations no longer holds."""


class AlreadyExists(ApiError):
    """An object of that name exists already."""


class NotFound(ApiError):
    """The object, or its whole kind, does not exist."""


class Gone(ApiError):
    """The resourceVersion is too old to watch or page on from."""


class Forbidden(ApiError):
    """RBAC, quota, an admission webhook or a policy refused it."""


class Unauthorized(ApiError):
    """The credentials were refused, also after they were renewed."""


class Invalid(ApiError):
    """The object breaks its schema or a rule about it."""


class TooManyRequests(ApiError):
    """The API server, or a PodDisruptionBudget, asks to wait; `retry_after` is how long, if known."""


class Unavailable(ApiError):
    """No answer, a cut answer, a time-out or a 5xx. A write might or might not have happened."""


class Fenced(ApiError):
    """Not sent: this process no longer leads."""


class _StatusCause(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class _StatusDetails(msgspec.Struct, frozen=True, rename="camel"):
    causes: tuple[_StatusCause, ...] | None = None
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True):
    """The body of a refusal; also the object of an ERROR event in a watch."""

    kind: str = ""
    code: int = 0
    reason: str = ""
    message: str = ""
    details: _StatusDetails | None = None


_LONGEST_WAIT = 60
"""Seconds; the maximum that a response can make a process wait."""

_BY_REASON: dict[str, type[ApiError]] = {"AlreadyExists": AlreadyExists, "Expired": Gone}
_BY_CODE: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}
_decode_status = msgspec.json.Decoder(Status).decode


def error_from_answer(code: int, body: bytes, retry_after: str | None = None, request: str = "") -> ApiError:
    """Return the error for an HTTP response that is no success; the body can be a Status or anything else."""
    try:
        status = _decode_status(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        status = Status()
    if status.kind != "Status":
        status = Status(message=body[:500].decode("utf-8", "replace").strip() or "no explanation given")
    return error_from_status(status, code=code, retry_after=retry_after, request=request)


def error_from_status(status: Status, *, code: int = 0, retry_after: str | None = None, request: str = "") -> ApiError:
    """Return the error a Status means. `code` (HTTP) wins over the Status' own; a watch has only the latter."""
    code = code or status.code
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(code) or (Unavailable if code >= 500 else ApiError)
    details = status.details or _StatusDetails()
    return kind(
        code,
        status.reason,
        status.message,
        causes=tuple(Cause(cause.reason, cause.message, cause.field) for cause in details.causes or ()),
        retry_after=_wait(retry_after, details.retry_after_seconds),
        request=request,
    )


def _wait(header: str | None, seconds: int) -> timedelta | None:
    if header is not None and header.isascii() and header.isdigit() and len(header) < 7:
        seconds = max(seconds, int(header))
    return timedelta(seconds=min(seconds, _LONGEST_WAIT)) if seconds > 0 else None
