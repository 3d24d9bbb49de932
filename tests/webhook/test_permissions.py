"""Answers about verbs on groups are kept for seconds and bounded in number; a fault of the API server is raised."""

from typing import Any

import pytest

from shared.api.review import User
from shared.kube.errors import Unavailable
from webhook.permissions import KEPT_NO, KEPT_YES, MOST_KEPT, Permissions, service_account

RED = User("red", "u1", ["system:authenticated"], {"scope": ["a"]})


class Authorizer:
    """Answers in place of the API server, and records the requests."""

    def __init__(self) -> None:
        self.allows = True
        self.fault: Exception | None = None
        self.asked: list[Any] = []
        self.now = 100.0
        self.permissions = Permissions(self, lambda: self.now)  # type: ignore[arg-type]

    async def create(self, _resource: object, body: Any, *, into: Any) -> Any:
        self.asked.append(body["spec"])
        if self.fault is not None:
            raise self.fault
        return into(type(into().status)(self.allows))


async def test_access_review_has_the_user_groups_and_extra_fields() -> None:
    authorizer = Authorizer()
    assert await authorizer.permissions.may(RED, "use", "vision")
    assert authorizer.asked == [
        {
            "resourceAttributes": {"group": "quotree.dev", "resource": "quotagroups", "verb": "use", "name": "vision"},
            "user": "red",
            "uid": "u1",
            "groups": ["system:authenticated"],
            "extra": {"scope": ["a"]},
        }
    ]
    assert service_account("team", "robot") == User(
        "system:serviceaccount:team:robot",
        groups=["system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated"],
    )


@pytest.mark.parametrize(("allows", "kept"), [(True, KEPT_YES), (False, KEPT_NO)])
async def test_permission_is_cached_for_its_time(allows: bool, kept: Any) -> None:
    authorizer = Authorizer()
    authorizer.allows = allows
    for seconds, asked in ((0.0, 1), (kept.total_seconds() - 0.1, 1), (0.2, 2)):
        authorizer.now += seconds
        assert await authorizer.permissions.may(RED, "use", "vision") is allows
        assert len(authorizer.asked) == asked


async def test_permission_is_cached_per_user_verb_and_group() -> None:
    authorizer = Authorizer()
    others = [RED, User("red", "u2", RED.groups, RED.extra), User("red", "u1", [], RED.extra)]
    for user in others:
        for verb, group in (("use", "vision"), ("use", "nlp"), ("update", "nlp")):
            await authorizer.permissions.may(user, verb, group)
    assert len(authorizer.asked) == 9


async def test_oldest_cached_permissions_are_dropped() -> None:
    authorizer = Authorizer()
    for number in range(MOST_KEPT + 1):
        await authorizer.permissions.may(RED, "use", f"g{number}")
    await authorizer.permissions.may(RED, "use", f"g{MOST_KEPT}")
    assert len(authorizer.asked) == MOST_KEPT + 1
    await authorizer.permissions.may(RED, "use", "g0")
    assert len(authorizer.asked) == MOST_KEPT + 2


async def test_failed_access_review_denies_and_is_not_cached() -> None:
    authorizer = Authorizer()
    authorizer.fault = Unavailable(503, "ServiceUnavailable", "the API server is away")
    for _ in range(2):
        with pytest.raises(Unavailable):
            await authorizer.permissions.may(RED, "use", "vision")
    assert len(authorizer.asked) == 2
