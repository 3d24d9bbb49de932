"""Every verb against a real API server, and what comes of every way a request can fail."""

import asyncio
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from shared.kube.client import Client, DryRun, ObjectMetadata
from shared.kube.connect.connection import Connection
from shared.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Invalid,
    NotFound,
    PatchTestFailed,
    TooManyRequests,
    Unavailable,
)
from shared.kube.resources import CONFIG_MAPS, JOBS, NODES, PODS, Resource
from tests.faults.kinds import CutAnswer, LoseAnswer, Refuse, Rule
from tests.faults.proxy import FaultProxy
from tests.shared.kube.servers import client_of, eventually


class Data(msgspec.Struct):
    data: dict[str, str]


async def create(client: Client, namespace: str, name: str, **data: str) -> ObjectMetadata:
    return await client.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": data}, namespace)


async def data_of(client: Client, namespace: str, name: str) -> dict[str, str]:
    return (await client.get(CONFIG_MAPS, name, namespace, into=Data)).data


async def test_create_get_and_delete(client: Client, namespace: str) -> None:
    created = await create(client, namespace, "a", x="1")
    assert (created.metadata.name, created.metadata.namespace) == ("a", namespace)
    assert await data_of(client, namespace, "a") == {"x": "1"}
    raw = msgspec.json.decode(await client.get(CONFIG_MAPS, "a", namespace))
    assert raw["metadata"]["uid"] == created.metadata.uid
    with pytest.raises(AlreadyExists):
        await create(client, namespace, "a")
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAPS, "a", namespace, uid="another")
    await client.delete(CONFIG_MAPS, "a", namespace, uid=created.metadata.uid)
    with pytest.raises(NotFound, match=rf'^GET configmaps {namespace}/a: 404 NotFound: configmaps "a" not found$'):
        await client.get(CONFIG_MAPS, "a", namespace)


async def test_a_dry_run_changes_nothing(client: Client, namespace: str) -> None:
    body = {"metadata": {"name": "a"}}
    assert (await client.create(CONFIG_MAPS, body, namespace, dry_run=DryRun.ALL)).metadata.uid
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, "a", namespace)


async def test_replace_with_an_older_version_is_refused(client: Client, namespace: str) -> None:
    first = await create(client, namespace, "a", x="1")
    body = {"metadata": {"name": "a", "resourceVersion": first.metadata.resource_version}, "data": {"x": "2"}}
    await client.replace(CONFIG_MAPS, "a", body, namespace)
    with pytest.raises(Conflict):
        await client.replace(CONFIG_MAPS, "a", body, namespace)
    assert await data_of(client, namespace, "a") == {"x": "2"}


async def test_merge_patch_and_apply(client: Client, namespace: str) -> None:
    await create(client, namespace, "a", x="1", y="1")
    await client.patch_merge(CONFIG_MAPS, "a", {"data": {"x": None, "z": "3"}}, namespace)
    assert await data_of(client, namespace, "a") == {"y": "1", "z": "3"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"y": "2"}}
    await client.apply(CONFIG_MAPS, "a", body, namespace)
    assert await data_of(client, namespace, "a") == {"y": "2", "z": "3"}
    whole = await client.apply(CONFIG_MAPS, "b", {**body, "metadata": {"name": "b"}}, namespace, into=dict[str, Any])
    assert whole["data"] == {"y": "2"}


async def test_failed_json_patch_names_the_failed_test(client: Client, namespace: str) -> None:
    created = await create(client, namespace, "a", x="1")
    uid = {"op": "test", "path": "/metadata/uid", "value": created.metadata.uid}
    await client.patch_json(CONFIG_MAPS, "a", [uid, {"op": "replace", "path": "/data/x", "value": "2"}], namespace)
    wrong = {"op": "test", "path": "/data/x", "value": "1"}
    with pytest.raises(PatchTestFailed) as caught:
        await client.patch_json(CONFIG_MAPS, "a", [uid, wrong, {"op": "remove", "path": "/data/x"}], namespace)
    message = f"PATCH configmaps {namespace}/a: 422 Conflict: /data/x is '2', expected '1'"
    assert str(caught.value) == message
    assert await data_of(client, namespace, "a") == {"x": "2"}
    with pytest.raises(Invalid):
        await client.patch_json(CONFIG_MAPS, "a", [uid, {"op": "remove", "path": "/data/absent"}], namespace)
    with pytest.raises(NotFound):
        await client.patch_json(CONFIG_MAPS, "absent", [wrong], namespace)


async def test_an_invalid_result_names_its_fields(client: Client, namespace: str) -> None:
    await create(client, namespace, "a", x="1")
    operations = [
        {"op": "test", "path": "/data/x", "value": "1"},
        {"op": "add", "path": "/data/..", "value": "1"},
    ]
    with pytest.raises(Invalid) as caught:
        await client.patch_json(CONFIG_MAPS, "a", operations, namespace)
    assert [(cause.reason, cause.field) for cause in caught.value.causes] == [("FieldValueInvalid", "data[..]")]


async def test_list_pages_are_from_one_version(client: Client, namespace: str) -> None:
    for number in range(5):
        await create(client, namespace, f"c{number}")
    pages = []
    async for page in client.list_pages(CONFIG_MAPS, namespace, into=ObjectMetadata, limit=2):
        pages.append(page)
        await create(client, namespace, f"late{len(pages)}")
    assert [[item.metadata.name for item in page.items] for page in pages] == [["c0", "c1"], ["c2", "c3"], ["c4"]]
    assert len({page.resource_version for page in pages}) == 1
    found = await client.list_all(CONFIG_MAPS, namespace, into=ObjectMetadata, fields="metadata.name=late1")
    assert [item.metadata.name for item in found] == ["late1"]
    assert await client.list_all(CONFIG_MAPS, namespace, labels="a=b") == []


async def test_eviction_is_refused_by_a_budget_and_for_another_uid(client: Client, namespace: str) -> None:
    pod = {
        "metadata": {"name": "p", "labels": {"app": "p"}},
        "spec": {"containers": [{"name": "c", "image": "none"}], "automountServiceAccountToken": False},
    }
    created = await client.create(PODS, pod, namespace)
    with pytest.raises(Conflict):
        await client.evict("p", namespace, uid="another")
    budgets = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", namespaced=True)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}}
    await client.create(budgets, {"metadata": {"name": "b"}, "spec": spec}, namespace)
    await eventually(
        lambda: client.get(PODS, "p", namespace, into=dict[str, Any]),
        lambda found: found["status"].get("phase") == "Running",
    )
    with pytest.raises(TooManyRequests) as caught:
        await client.evict("p", namespace, uid=created.metadata.uid)
    assert caught.value.has_cause("DisruptionBudget")
    await client.delete(budgets, "b", namespace)

    async def evicted() -> bool:
        try:
            await client.evict("p", namespace, uid=created.metadata.uid)
        except TooManyRequests:
            return False
        return True

    assert await eventually(evicted)


async def test_requested_fields_only_are_sent_and_decoded(client: Client) -> None:
    class Whole(msgspec.Struct):
        kind: str

    name = (await client.list_all(NODES, into=ObjectMetadata))[0].metadata.name
    assert (await client.get(NODES, name, into=Whole)).kind == "Node"

    class MetadataAndKind(ObjectMetadata, frozen=True):
        kind: str = ""

    body = {"metadata": {"annotations": {"a": "b"}}}
    assert (await client.patch_merge(NODES, name, body, into=MetadataAndKind)).kind == "PartialObjectMetadata"


async def test_response_of_another_shape_is_distinguished_from_a_truncated_one(client: Client) -> None:
    class Wrong(msgspec.Struct):
        kind: int

    with pytest.raises(ApiError) as caught:
        await client.list_all(NODES, into=Wrong)
    assert caught.value.reason == "UnexpectedShape"
    assert not isinstance(caught.value, Unavailable)


async def test_names_are_escaped_in_paths(client: Client, namespace: str) -> None:
    for name in ("../default", "a/b", "a?b=c", "ü", "%2e%2e"):
        with pytest.raises(ApiError) as caught:
            await client.get(CONFIG_MAPS, name, namespace)
        assert caught.value.status in (400, 404)


async def test_observers_are_called_for_every_request(connection: Connection, namespace: str) -> None:
    heard: list[tuple[str, str, int]] = []

    def observe(method: str, resource: str, status: int, seconds: float) -> None:
        assert 0 < seconds < 10
        heard.append((method, resource, status))

    client = Client(connection, on_request=observe)
    await create(client, namespace, "a")
    with pytest.raises(NotFound):
        await client.get(JOBS, "a", namespace)
    with pytest.raises(Unavailable):
        await client.within(timedelta(microseconds=1)).get(JOBS, "a", namespace)
    assert heard == [("POST", "configmaps", 201), ("GET", "jobs", 404), ("GET", "jobs", 0)]


@pytest.mark.parametrize("fault", [LoseAnswer(), CutAnswer()])
async def test_lost_or_truncated_response_raises_unavailable(
    client: Client, through: Client, proxy: FaultProxy, namespace: str, fault: LoseAnswer | CutAnswer
) -> None:
    await create(client, namespace, "a", x="1")
    proxy.rules.append(Rule(fault, lambda asked: asked.is_write))
    with pytest.raises(Unavailable) as caught:
        await through.patch_merge(CONFIG_MAPS, "a", {"data": {"x": "2"}}, namespace)
    assert caught.value.status == 0
    assert await data_of(client, namespace, "a") == {"x": "2"}


async def test_refusal_keeps_its_retry_after(through: Client, proxy: FaultProxy) -> None:
    proxy.rules.append(Rule(Refuse(429, retry_after=7)))
    with pytest.raises(TooManyRequests) as caught:
        await through.get(NODES, "a")
    assert caught.value.retry_after == timedelta(seconds=7)


class Busy:
    """A server that puts off some of its answers; three objects, one a page."""

    def __init__(self, *put_off: int, header: str = "1") -> None:
        self._put_off = set(put_off)
        self._header = {"Retry-After": header} if header else {}
        self.asked: list[tuple[str, float]] = []

    async def answer(self, request: web.Request) -> web.Response:
        token = request.query.get("continue", "")
        self.asked.append((token, time.monotonic()))
        if len(self.asked) in self._put_off:
            return web.json_response({"kind": "Status", "code": 429}, status=429, headers=self._header)
        number = int(token or 0)
        metadata = {"resourceVersion": "7", "continue": str(number + 1) if number < 2 else ""}
        return web.json_response({"metadata": metadata, "items": [{"metadata": {"name": f"c{number}"}}]})


async def test_page_that_is_put_off_is_asked_for_again_when_the_server_says(tmp_path: Path) -> None:
    busy = Busy(1, 3)
    async with client_of(busy.answer, tmp_path) as client:
        found = await client.list_all(CONFIG_MAPS, into=ObjectMetadata)
    assert [each.metadata.name for each in found] == ["c0", "c1", "c2"]
    assert [token for token, _ in busy.asked] == ["", "", "1", "1", "2"]
    times = [at for _, at in busy.asked]
    assert all(times[after] - times[after - 1] >= 1 for after in (1, 3))


async def test_page_that_is_put_off_without_a_time_is_not_asked_for_again(tmp_path: Path) -> None:
    busy = Busy(2, header="")
    async with client_of(busy.answer, tmp_path) as client:
        with pytest.raises(TooManyRequests):
            await client.list_all(CONFIG_MAPS, into=ObjectMetadata)
    assert len(busy.asked) == 2


async def test_timeout_raises_unavailable(through: Client, proxy: FaultProxy) -> None:
    proxy.side("watcher").partition()
    with pytest.raises(Unavailable, match="GET nodes: TimeoutError: no answer in time"):
        await through.within(timedelta(seconds=0.5)).list_all(NODES)


async def test_waiting_for_a_connection_is_not_timed_and_reserved_connections_stay_free(tmp_path: Path) -> None:
    async def slow(_: web.Request) -> web.Response:
        await asyncio.sleep(0.3)
        return web.json_response({"metadata": {}})

    async with client_of(slow, tmp_path) as client:
        narrow = client.reserved(1).within(timedelta(seconds=60))
        started = time.monotonic()
        await asyncio.gather(*(narrow.get(NODES, "a") for _ in range(5)))
        assert time.monotonic() - started >= 1.5
        waiting = [asyncio.create_task(narrow.get(NODES, "a")) for _ in range(3)]
        await asyncio.sleep(0.05)
        await narrow.reserved(1).get(NODES, "a")
        assert not waiting[-1].done()
        await asyncio.gather(*waiting)


@pytest.mark.parametrize("body", [b"<html>", b"", b'{"metadata": {"name": "x"', b"\xff\xfe{}"])
async def test_response_that_is_not_json_raises_unavailable(tmp_path: Path, body: bytes) -> None:
    async def broken(_: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    async with client_of(broken, tmp_path) as client:
        with pytest.raises(Unavailable, match="CutAnswer"):
            await client.get(NODES, "a", into=ObjectMetadata)


async def test_redirect_is_an_error(tmp_path: Path) -> None:
    async def redirect(_: web.Request) -> web.Response:
        raise web.HTTPFound("http://127.0.0.1:1/elsewhere")

    async with client_of(redirect, tmp_path) as client:
        with pytest.raises(ApiError) as caught:
            await client.get(NODES, "a")
        assert caught.value.status == 302
