"""`quotree top --requesters` lists who has used most of late, from the statuses of groups."""

from typing import Any

from cli.render.accounts.requesters import requester_rows
from shared.api.quotagroup import QuotaGroup, read_quota_group
from shared.json_data import Json
from tests.builders import NOW

HOUR = 3600


def group(name: str, requesters: dict[str, Json], **queueing: Any) -> QuotaGroup:
    status = {
        "pastUseTime": NOW.isoformat(),
        "requesters": [
            {"name": who, "pastUse": {key: str(each) for key, each in own.items()}} for who, own in requesters.items()
        ],
    }
    return read_quota_group({"metadata": {"name": name}, "spec": {"queueing": queueing}, "status": status})


def test_requesters_are_listed_by_what_they_have_used() -> None:
    shared = group(
        "shared",
        {"": {"gpu": HOUR}, "a": {"gpu": HOUR, "cpu": 500 * HOUR}, "b": {"gpu": 2 * HOUR}},
        order="Namespace",
        weights={"b": 2},
    )
    groups = {"shared": shared, "plain": group("plain", {})}
    rows = [
        (each["requesterText"], each["resource"], each["pastUseText"], each["share"], each["weight"])
        for each in requester_rows(groups, None)
    ]
    assert rows == [
        ("namespace a", "cpu", "0.50 core-hours", "100%", "1"),
        ("namespace b", "gpu", "2.00 gpu-hours", "50%", "2"),
        ("namespace a", "gpu", "1.00 gpu-hours", "25%", "1"),
        ("all others", "gpu", "1.00 gpu-hours", "25%", "1"),
    ]
    assert {each["resource"] for each in requester_rows(groups, "gpu")} == {"gpu"}


def test_users_are_named_as_such() -> None:
    used = {"ann": {"gpu": 1}, "system:serviceaccounts:ci": {"gpu": 1}}
    rows = requester_rows({"u": group("u", used, order="User")}, None)
    assert [each["requesterText"] for each in rows] == ["user ann", "accounts of namespace ci"]
