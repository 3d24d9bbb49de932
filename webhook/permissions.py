"""Whether a user has a verb on a QuotaGroup, as the API server's own authorisation answers.

Answers are kept for seconds, so that a stream of Jobs costs a few requests, and a grant or its end is soon in force.

See docs/specification.md §15.3 (`use`) and §4.4 (`divide`, `update`, `patch`, `delete`).
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import msgspec

from shared.api.names import GROUP
from shared.api.review import User
from shared.kube.access_review import KeptAnswers, may
from shared.kube.client import Client
from shared.kube.resources import QUOTA_GROUPS

KEPT_YES: Final = timedelta(seconds=10)
KEPT_NO: Final = timedelta(seconds=2)
"""Shorter: a user who was just granted the verb retries at once."""
MOST_KEPT: Final = 4096
ALL_GROUPS: Final = ""
"""Asks for the verb on every QuotaGroup, as a rule without `resourceNames` gives it."""


class Permissions:
    """Asks the API server, and caches its answers for a short time. `clock`: monotonic seconds."""

    def __init__(self, client: Client, clock: Callable[[], float]) -> None:
        self._client = client
        self._kept: KeptAnswers[bool] = KeptAnswers(MOST_KEPT, clock)

    async def may(self, user: User, verb: str, group: str) -> bool:
        """Return whether the user has the verb on the group. Raises ApiError if the API server does not answer."""
        key = msgspec.msgpack.encode((user.username, user.uid, user.groups, user.extra, verb, group))
        allowed = self._kept.get(key)
        if allowed is None:
            attributes = {"group": GROUP, "resource": QUOTA_GROUPS.plural, "verb": verb, "name": group}
            allowed = await may(self._client, user, resourceAttributes=attributes)
            self._kept.keep(key, allowed, KEPT_YES if allowed else KEPT_NO)
        return allowed


def service_account(namespace: str, name: str) -> User:
    """Return the user name of this service account's pods."""
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
    return User(f"system:serviceaccount:{namespace}:{name}", groups=groups)
