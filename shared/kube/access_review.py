"""Whether a user may do something, according to the API server's authorisation; and a cache of such answers."""

from collections import OrderedDict
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Generic, TypeVar

import msgspec

from shared.api.review import User
from shared.kube.client import Client
from shared.kube.resources import SUBJECT_ACCESS_REVIEWS

A = TypeVar("A")


class _Status(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Answer(msgspec.Struct, frozen=True):
    status: _Status = _Status()


async def may(client: Client, user: User, **attributes: Any) -> bool:
    """Return whether the user may do what the `attributes` of a SubjectAccessReview's spec say. Raises ApiError."""
    review = {
        "apiVersion": SUBJECT_ACCESS_REVIEWS.api_version,
        "kind": SUBJECT_ACCESS_REVIEWS.kind,
        "spec": {
            **attributes,
            "user": user.username,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
        },
    }
    answer = await client.create(SUBJECT_ACCESS_REVIEWS, review, into=_Answer)
    return answer.status.allowed


class KeptAnswers(Generic[A]):
    """At most `most` answers, each for its time; the oldest is dropped first. `clock`: monotonic seconds."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._clock = clock
        self._kept: OrderedDict[bytes, tuple[A, float]] = OrderedDict()

    def get(self, key: bytes) -> A | None:
        """Return the cached answer, unless it has expired."""
        found = self._kept.get(key)
        return found[0] if found is not None and self._clock() < found[1] else None

    def keep(self, key: bytes, answer: A, life: timedelta) -> None:
        """Cache the answer for that time."""
        self._kept[key] = (answer, self._clock() + life.total_seconds())
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
