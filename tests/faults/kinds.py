"""The faults a proxy can commit, and the rules that say on which requests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as rules match it."""

    client: str
    method: str
    path: str
    query: Mapping[str, str]
    body: bytes

    @property
    def is_watch(self) -> bool:
        """Is the answer a stream without end?"""
        return self.query.get("watch") in ("true", "1")

    @property
    def is_write(self) -> bool:
        """Does it change something?"""
        return self.method not in ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with a Status of this code; the API server never sees the request."""

    code: int
    reason: str = ""
    retry_after: int | None = None

    def status(self) -> dict[str, Any]:
        """The body."""
        details = {} if self.retry_after is None else {"retryAfterSeconds": self.retry_after}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": self.code,
            "reason": self.reason or _REASONS.get(self.code, ""),
            "message": "made to fail",
            "details": details,
        }


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """Let the API server do it, then cut the connection without a word."""


@dataclass(frozen=True, slots=True)
class CutAnswer:
    """Let half of the answer through, then cut. Of a watch: `after` bytes, most likely inside a line."""

    after: int = 4096


@dataclass(frozen=True, slots=True)
class FallSilent:
    """Let `after` bytes of the answer through, then nothing, with the connection open."""

    after: int = 0


@dataclass(frozen=True, slots=True)
class Delay:
    """Wait this long, at random between the two, before passing the request on, if its client still waits then."""

    least: float
    most: float


Fault = Refuse | LoseAnswer | CutAnswer | FallSilent | Delay

_REASONS = {
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def always(_: Asked) -> bool:
    """Every request."""
    return True


def watches(asked: Asked) -> bool:
    """Every watch."""
    return asked.is_watch


def writes(asked: Asked) -> bool:
    """Every write."""
    return asked.is_write


@dataclass(slots=True)
class Rule:
    """Commit `fault` on requests that `when` picks, each with probability `chance`, at most `times` times."""

    fault: Fault
    when: Callable[[Asked], bool] = always
    chance: float = 1.0
    times: int | None = None
    committed: int = field(default=0)
