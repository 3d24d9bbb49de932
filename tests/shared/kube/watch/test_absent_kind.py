"""A watch of a kind whose CustomResourceDefinition comes later, goes, and comes again. Against a real API server."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from shared.kube.client import Client
from shared.kube.errors import ApiError, NotFound
from shared.kube.resources import Resource
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import Watch, WatchSettings
from tests.shared.kube.servers import until
from tests.shared.kube.watch.test_watching import Seen, Thing

CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
PATIENT = WatchSettings(absent=timedelta(milliseconds=200))


class _Metadata(msgspec.Struct):
    name: str


class _Gadget(msgspec.Struct):
    metadata: _Metadata


def project(raw: bytes) -> Thing:
    return Thing(msgspec.json.decode(raw, type=_Gadget).metadata.name, "")


@pytest.fixture
async def gadgets(client: Client) -> AsyncIterator[Resource]:
    """A kind of the test's own; its definition is not there yet, and is removed at the end."""
    group = f"g{uuid.uuid4().hex[:8]}.example.com"
    yield Resource(group, "v1", "gadgets", "Gadget", namespaced=True)
    with suppress(NotFound):
        await client.delete(CRDS, f"gadgets.{group}")


def definition(resource: Resource) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {"plural": resource.plural, "kind": resource.kind, "singular": "gadget", "listKind": "GadgetList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


async def create(client: Client, gadgets: Resource, namespace: str, name: str) -> None:
    """As soon as the kind is served."""
    body = {"apiVersion": gadgets.api_version, "kind": "Gadget", "metadata": {"name": name}}
    async with asyncio.timeout(120):
        while True:
            try:
                await client.create(gadgets, body, namespace)
            except ApiError:
                await asyncio.sleep(0.1)
            else:
                return


async def test_missing_kind_is_waited_for_without_an_error(client: Client, namespace: str, gadgets: Resource) -> None:
    seen = Seen()
    watches = Watches()
    watch = watches.add(Watch(client, gadgets, project, seen, settings=PATIENT))
    task = asyncio.create_task(watches.run())
    try:
        async with asyncio.timeout(120):
            await watches.all_synced()
        assert (watch.health.trouble, watches.problem(), dict(watch.records)) == (None, None, {})
        await client.create(CRDS, definition(gadgets))
        await create(client, gadgets, namespace, "first")
        await until(lambda: seen.things == {"first": ""}, 60)
        await client.delete(CRDS, f"{gadgets.plural}.{gadgets.group}")
        await until(lambda: seen.things == {} and not watch.records, 60)
        assert watches.problem() is None
    finally:
        task.cancel()
