"""Words for asking the API server for edits of QuotaGroups, many at once, and for what became of them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from shared.kube.client import Client
from shared.kube.errors import ApiError
from shared.kube.resources import QUOTA_GROUPS

ROOM = 10
CREATIONS = 40


def quota_group(name: str, parent: str | None = None, gpu: int | None = None, **spec: Any) -> dict[str, Any]:
    if parent is not None:
        spec["parent"] = parent
    if gpu is not None:
        spec["quotas"] = [{"min": {"gpu": gpu}}]
    return {"apiVersion": "quotree.dev/v1alpha1", "kind": "QuotaGroup", "metadata": {"name": name}, "spec": spec}


async def answer(work: Any) -> tuple[int, str]:
    """What became of a request: its HTTP code and message; 0 for success, -1 for no answer."""
    try:
        await work
    except ApiError as error:
        return error.status or -1, error.message
    return 0, ""


async def settled(ask: Callable[[], Awaitable[Any]]) -> tuple[int, str]:
    """What became of a request in the end: a patient user sends it again while the answer is to try again."""
    while True:
        code, text = await answer(ask())
        if "try again" not in text:
            return code, text
        await asyncio.sleep(0.2)


async def children(client: Client, parent: str) -> list[str]:
    found = await client.list_all(QUOTA_GROUPS, into=dict[str, Any])
    return [each["metadata"]["name"] for each in found if each["spec"].get("parent") == parent]


async def create_all(client: Client, parent: str) -> Counter[int]:
    """40 creations of min 1 at once, again where the answer is to try again: how many ended with which code."""
    asked = [quota_group(f"{parent}-{at}", parent, 1) for at in range(CREATIONS)]
    return Counter(await asyncio.gather(*(until_settled(client, body) for body in asked)))


async def until_settled(client: Client, body: dict[str, Any]) -> int:
    """Create as a patient user does: again while the answer is to try again; the last code."""
    while True:
        code, text = await answer(client.create(QUOTA_GROUPS, body))
        if code == 0 or "already exists" in text:
            return 0
        if code in (422, 403):
            assert code == 403 or f"children promise {ROOM + 1} of default/gpu" in text, text
            return code
        await asyncio.sleep(0.2)
