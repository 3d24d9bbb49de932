"""A pod whose eviction fails each time, as it does where two budgets select it: told at once, and deleted in time."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web

from reconciler.write.evictions.pods import PodEvictions
from reconciler.write.workload_writer import WorkloadWriter
from shared.cluster.state.workloads.object_store import PodRef
from tests.shared.kube.servers import client_of, until

MESSAGE = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
POD = PodRef("key", "shop", "web-0", "u1")


async def test_pod_that_cannot_be_evicted_is_reported_once_and_deleted_after_the_timeout(tmp_path: Path) -> None:
    async def refuse(request: web.Request) -> web.Response:
        seen[request.method] += 1
        if request.method == "DELETE":
            return web.json_response({"metadata": {"name": POD.name}})
        return web.json_response({"kind": "Status", "code": 500, "message": MESSAGE}, status=500)

    seen, reported, deleted = Counter[str](), list[tuple[PodRef, str]](), list[PodRef]()
    async with client_of(refuse, tmp_path) as client:
        evictions = PodEvictions(
            WorkloadWriter(client, lambda: timedelta(hours=1)),
            lambda _: True,
            lambda pod, why: reported.append((pod, why)),
            deleted.append,
            spawn=asyncio.create_task,
            timeout=timedelta(seconds=4),
        )
        evictions.begin([POD], datetime.now(UTC))
        await until(lambda: bool(reported))
        assert not deleted
        await until(lambda: seen["DELETE"] == 1)
    assert (reported, deleted) == ([(POD, MESSAGE)], [POD])
