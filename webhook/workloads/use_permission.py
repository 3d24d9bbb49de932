"""Whether a user may use a group: the verb `use` on the QuotaGroup, as the API server's own authorisation answers.

Answers are kept for seconds, so that a stream of Jobs costs a few requests, and a grant or its end is soon in force.

See docs/specification.md §15.3.
"""

from collections import OrderedDict
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import msgspec

from shared.api.names import GROUP
from shared.api.review import User
from shared.kube.client import Client
from shared.kube.resources import QUOTA_GROUPS, SUBJECT_ACCESS_REVIEWS

KEPT_YES: Final = timedelta(seconds=10)
KEPT_NO: Final = timedelta(seconds=2)
"""Shorter: a person who has just been granted the verb tries again at once."""
MOST_KEPT: Final = 4096


class _Status(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Answer(msgspec.Struct, frozen=True):
    status: _Status = _Status()


class UsePermissions:
    """Asks the API server, and keeps its answers for a while. `clock`: seconds that only grow."""

    def __init__(self, client: Client, clock: Callable[[], float]) -> None:
        self._client = client
        self._clock = clock
        self._kept: OrderedDict[bytes, tuple[bool, float]] = OrderedDict()

    async def may_use(self, user: User, group: str) -> bool:
        """Whether the user may use the group. Raises ApiError when the API server does not answer."""
        key = msgspec.msgpack.encode((user.username, user.uid, user.groups, user.extra, group))
        allowed, until = self._kept.get(key, (False, 0.0))
        if self._clock() < until:
            return allowed
        answer = await self._client.create(SUBJECT_ACCESS_REVIEWS, _access_review(user, group), into=_Answer)
        allowed = answer.status.allowed
        kept = KEPT_YES if allowed else KEPT_NO
        self._kept[key] = (allowed, self._clock() + kept.total_seconds())
        self._kept.move_to_end(key)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return allowed


def service_account(namespace: str, name: str) -> User:
    """The user that pods of this service account are, as the API server knows it."""
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
    return User(f"system:serviceaccount:{namespace}:{name}", groups=groups)


def _access_review(user: User, group: str) -> dict[str, Any]:
    attributes = {"group": GROUP, "resource": QUOTA_GROUPS.plural, "verb": "use", "name": group}
    return {
        "apiVersion": SUBJECT_ACCESS_REVIEWS.api_version,
        "kind": SUBJECT_ACCESS_REVIEWS.kind,
        "spec": {
            "resourceAttributes": attributes,
            "user": user.username,
            "uid": user.uid,
            "groups": user.groups,
            "extra": user.extra,
        },
    }
