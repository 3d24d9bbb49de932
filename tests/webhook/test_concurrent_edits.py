"""Concurrent edits on a real API server, through one, two and three webhook processes: never both halves of a wrong."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.binaries import Binaries
from controlplane.cluster import ControlPlane, start
from shared.kube.client import Client
from shared.kube.connection import ConnectionSettings, connected
from shared.kube.errors import ApiError
from shared.kube.resources import QUOTA_GROUPS
from tests.webhook.replicas import Balancer, Replicas

ROOM = 10
ASKERS = 40


@pytest.fixture(scope="module")
def plain_control_plane(control_plane_binaries: Binaries) -> Iterator[ControlPlane]:
    """API server and etcd alone."""
    with start(control_plane_binaries, controllers=(), scheduler=False, kwok=False) as started:
        yield started


@pytest.fixture
def replicas(plain_control_plane: ControlPlane, tmp_path: Path) -> Iterator[Replicas]:
    with Balancer().running() as balancer:
        made = Replicas(plain_control_plane, tmp_path, balancer)
        made.install()
        try:
            yield made
        finally:
            made.stop()
            plain_control_plane.kubectl("delete", "qg", "--all", "--wait=true")
            plain_control_plane.kubectl("delete", "cm", "quotree-edits", "-n", "quotree-system", "--ignore-not-found")


@pytest.fixture
async def client(plain_control_plane: ControlPlane) -> AsyncIterator[Client]:
    settings = ConnectionSettings(kubeconfig=str(plain_control_plane.kubeconfig))
    async with connected(settings) as connection:
        yield Client(connection)


def quota_group(name: str, parent: str | None = None, gpu: int | None = None, **spec: Any) -> dict[str, Any]:
    if parent is not None:
        spec["parent"] = parent
    if gpu is not None:
        spec["quotas"] = [{"min": {"gpu": gpu}}]
    return {"apiVersion": "quotree.dev/v1alpha1", "kind": "QuotaGroup", "metadata": {"name": name}, "spec": spec}


async def answer(work: Any) -> tuple[int, str]:
    """What became of a request: its HTTP code and message; 0 for success."""
    try:
        await work
    except ApiError as error:
        return error.status, error.message
    return 0, ""


async def children(client: Client, parent: str) -> list[str]:
    found = await client.list_all(QUOTA_GROUPS, into=dict[str, Any])
    return [each["metadata"]["name"] for each in found if each["spec"].get("parent") == parent]


async def create_all(client: Client, parent: str) -> Counter[int]:
    """40 creations of min 1 at once: how many ended with which code."""
    asked = [quota_group(f"{parent}-{at}", parent, 1) for at in range(ASKERS)]
    answers = await asyncio.gather(*(answer(client.create(QUOTA_GROUPS, body)) for body in asked))
    refused = [said for code, said in answers if code]
    assert all("children promise 11 of default/gpu" in said or code != 422 for code, said in answers if code), refused
    return Counter(code for code, _ in answers)


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_of_40_creations_into_room_for_10_exactly_10_are_accepted(
    replicas: Replicas, client: Client, count: int
) -> None:
    await asyncio.to_thread(replicas.start, count)
    for turn in range(3):
        await client.create(QUOTA_GROUPS, quota_group(f"p{turn}", gpu=ROOM, isParent=True))
        assert await create_all(client, f"p{turn}") == {0: ROOM, 422: ASKERS - ROOM}
        assert len(await children(client, f"p{turn}")) == ROOM


async def test_of_two_moves_that_together_make_a_circle_one_is_refused(replicas: Replicas, client: Client) -> None:
    await asyncio.to_thread(replicas.start, 2)
    for name in ("a", "b"):
        await client.create(QUOTA_GROUPS, quota_group(name, isParent=True))
    for _ in range(10):
        answers = await asyncio.gather(
            answer(client.patch_merge(QUOTA_GROUPS, "a", {"spec": {"parent": "b"}})),
            answer(client.patch_merge(QUOTA_GROUPS, "b", {"spec": {"parent": "a"}})),
        )
        assert sorted(code for code, _ in answers) == [0, 422]
        assert any("(Cycle)" in said for _, said in answers)
        for name in ("a", "b"):
            await client.patch_merge(QUOTA_GROUPS, name, {"spec": {"parent": None}})


async def test_a_child_and_the_end_of_its_parent_are_not_both_accepted(replicas: Replicas, client: Client) -> None:
    await asyncio.to_thread(replicas.start, 2)
    for turn in range(10):
        await client.create(QUOTA_GROUPS, quota_group(f"d{turn}", isParent=True))
        (child, said), (parent, why) = await asyncio.gather(
            answer(client.create(QUOTA_GROUPS, quota_group(f"c{turn}", f"d{turn}"))),
            answer(client.delete(QUOTA_GROUPS, f"d{turn}")),
        )
        stored = {each["metadata"]["name"] for each in await client.list_all(QUOTA_GROUPS, into=dict[str, Any])}
        if parent == 0 and child == 0:
            assert "does not exist yet" not in said
            assert f"d{turn}" not in stored
        else:
            assert (child, parent) == (0, 422), (said, why)
            assert "(DeletedWithChildren)" in why
