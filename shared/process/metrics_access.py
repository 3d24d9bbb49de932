"""Authorises readers of metrics: the API server reviews the token, and whether its user may read them.

Answers are cached for a short time, so that a reader costs few requests. Tokens are kept as digests. While the API
server does not answer, only recently allowed readers get an answer, because the metrics that show the outage are then
most useful.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from enum import Enum
from typing import Any, Final

from shared.api.json.reading import View
from shared.api.review import User
from shared.kube.access_review import KeptAnswers, may
from shared.kube.client import Client
from shared.kube.errors import ApiError
from shared.kube.resources import TOKEN_REVIEWS
from shared.telemetry import get_logger

METRICS_PATH: Final = "/metrics"
METRICS: Final = ({"nonResourceAttributes": {"path": METRICS_PATH, "verb": "get"}},)
"""The right that a reader of the metrics must have."""
ALLOWED_FOR: Final = timedelta(seconds=30)
REFUSED_FOR: Final = timedelta(seconds=10)
TRUSTED_FOR: Final = timedelta(minutes=10)
"""How long a permission counts while the API server gives no other answer."""
_ANSWER_WITHIN: Final = timedelta(milliseconds=500)
"""How long the API server's answer is waited for while a permission still counts."""
_REMEMBERED: Final = 256
"""The maximum of cached tokens; the oldest is dropped."""
_UNDER_WAY: Final = 8
"""The maximum of tokens under review at the same time; more are refused, because anyone can send tokens."""

log = get_logger(__name__)


class _TokenStatus(View, frozen=True):
    authenticated: bool = False
    user: User = User()


class _TokenReview(View, frozen=True):
    status: _TokenStatus = _TokenStatus()


class Permission(Enum):
    """The result for a request, with its HTTP status."""

    ALLOWED = 200
    UNKNOWN = 401
    FORBIDDEN = 403
    UNDECIDED = 503


class ReaderPermissions:
    """Asks the API server, and caches the answers."""

    def __init__(
        self,
        client: Client,
        now: Callable[[], float] = time.monotonic,
        *,
        needed: Sequence[Mapping[str, Any]] = METRICS,
        trusted_for: timedelta = TRUSTED_FOR,
    ) -> None:
        """`needed`: attributes of a SubjectAccessReview's spec, all of which the user must be allowed."""
        self._client = client.reserved(2)
        self._needed = needed
        self._trusted_for = trusted_for
        self._known: KeptAnswers[Permission] = KeptAnswers(_REMEMBERED, now)
        self._trusted: KeptAnswers[bool] = KeptAnswers(_REMEMBERED, now)
        """Readers that were allowed, kept after their cached answer has expired."""
        self._asking: dict[bytes, asyncio.Task[Permission]] = {}

    async def of(self, authorization: str) -> Permission:
        """Return the permission of a request with this Authorization header."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip() or not token.isascii():
            return Permission.UNKNOWN
        digest = hashlib.sha256(token.strip().encode()).digest()
        known = self._known.get(digest)
        if known is not None:
            return known
        if digest not in self._asking:
            if len(self._asking) >= _UNDER_WAY:
                return self._undecided(digest)
            asking = self._asking[digest] = asyncio.create_task(self._ask(digest, token.strip()), name="metrics access")
            asking.add_done_callback(lambda _: self._asking.pop(digest))
        limit = _ANSWER_WITHIN.total_seconds() if self._trusted.get(digest) else None
        try:
            return await asyncio.wait_for(asyncio.shield(self._asking[digest]), limit)
        except TimeoutError:
            return self._undecided(digest)

    def _undecided(self, digest: bytes) -> Permission:
        return Permission.ALLOWED if self._trusted.get(digest) else Permission.UNDECIDED

    async def _ask(self, digest: bytes, token: str) -> Permission:
        try:
            found = await self._look_up(token)
        except ApiError as error:
            log.warning("Access not decided", error=str(error))
            return self._undecided(digest)
        is_allowed = found is Permission.ALLOWED
        self._known.keep(digest, found, ALLOWED_FOR if is_allowed else REFUSED_FOR)
        self._trusted.keep(digest, is_allowed, self._trusted_for)
        return found

    async def _look_up(self, token: str) -> Permission:
        review = {"apiVersion": TOKEN_REVIEWS.api_version, "kind": TOKEN_REVIEWS.kind, "spec": {"token": token}}
        answer = await self._client.create(TOKEN_REVIEWS, review, into=_TokenReview)
        if not answer.status.authenticated:
            return Permission.UNKNOWN
        for attributes in self._needed:
            if not await may(self._client, answer.status.user, **attributes):
                return Permission.FORBIDDEN
        return Permission.ALLOWED
