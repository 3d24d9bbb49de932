"""Overrides and windows on a real API server, through two webhook processes: judged at every moment, also together."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.kube.client import Client
from shared.kube.resources import QUOTA_GROUPS
from tests.webhook.edit_requests import answer, quota_group
from tests.webhook.rolling.replicas import Replicas

pytestmark = pytest.mark.timeout(900)


def written(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


NEXT = datetime.now(UTC).replace(microsecond=0) + timedelta(days=30)


def override(gpu: int, start: datetime = NEXT, end: datetime | None = None) -> dict[str, Any]:
    end = end or start + timedelta(days=7)
    return {"from": written(start), "until": written(end), "quotas": [{"min": {"gpu": gpu}}]}


def says(**spec: Any) -> dict[str, Any]:
    return {"spec": spec}


async def make_tree(client: Client, *names: str) -> None:
    await client.create(QUOTA_GROUPS, quota_group("p", gpu=10, isParent=True))
    for name in names:
        await client.create(QUOTA_GROUPS, quota_group(name, "p", 4))


async def test_an_override_is_refused_for_the_moment_at_which_it_would_be_too_much(
    replicas: Replicas, client: Client
) -> None:
    await asyncio.to_thread(replicas.use, 0, 1)
    await make_tree(client, "a", "b")
    code, text = await answer(client.patch_merge(QUOTA_GROUPS, "a", says(overrides=[override(7)])))
    assert code == 422
    assert f"from {written(NEXT)} on (with a spec.overrides[0]): children promise 11 of default/gpu" in text
    assert await answer(client.patch_merge(QUOTA_GROUPS, "a", says(overrides=[override(6)]))) == (0, "")
    code, text = await answer(client.patch_merge(QUOTA_GROUPS, "p", says(quotas=[{"min": {"gpu": 9}}])))
    assert code == 422
    assert f"from {written(NEXT)} on" in text
    night = {"schedule": "0 20 * * *", "duration": "10h", "timeZone": "Europe/Berlin", "quotas": [{"min": {"gpu": 5}}]}
    code, text = await answer(client.patch_merge(QUOTA_GROUPS, "b", says(windows=[night])))
    assert code == 422
    assert "(with b spec.windows[0], a spec.overrides[0]): children promise 11" in text
    night["timeZone"] = "Europe/Nowhere"
    code, text = await answer(client.patch_merge(QUOTA_GROUPS, "b", says(windows=[night])))
    assert (code, "(UnknownTimeZone)" in text) == (422, True)


async def test_an_override_that_has_ended_does_not_keep_its_group_from_being_edited(
    replicas: Replicas, client: Client
) -> None:
    await asyncio.to_thread(replicas.use, 0)
    await make_tree(client, "a")
    now = datetime.now(UTC)
    past = override(5, now - timedelta(days=2), now - timedelta(days=1))
    code, text = await answer(client.patch_merge(QUOTA_GROUPS, "a", says(overrides=[past])))
    assert (code, "has passed: it is " in text, "(OverrideInPast)" in text) == (422, True, True)
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=15)
    short = override(5, now - timedelta(days=2), end)
    assert await answer(client.patch_merge(QUOTA_GROUPS, "a", says(overrides=[short]))) == (0, "")
    await asyncio.sleep((end - datetime.now(UTC)).total_seconds() + 1)
    edited = says(quotas=[{"min": {"gpu": 3}}], overrides=[short, override(6)])
    assert await answer(client.patch_merge(QUOTA_GROUPS, "a", edited)) == (0, "")


async def test_of_two_overrides_that_are_too_much_together_one_is_refused(replicas: Replicas, client: Client) -> None:
    await asyncio.to_thread(replicas.use, 0, 1)
    await make_tree(client, "a", "b")
    for turn in range(5):
        start = NEXT + timedelta(days=10 * turn)
        answers = await asyncio.gather(
            *(answer(client.patch_merge(QUOTA_GROUPS, name, says(overrides=[override(6, start)]))) for name in "ab")
        )
        assert 422 in [code for code, _ in answers] or 409 in [code for code, _ in answers], answers
        assert [code for code, _ in answers].count(0) == 1
        for name in "ab":
            await client.patch_merge(QUOTA_GROUPS, name, says(overrides=None))
