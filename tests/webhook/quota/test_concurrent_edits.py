"""Concurrent edits on a real API server, through one, two and three webhook processes: never both halves of a wrong."""

import asyncio
import json
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dev.controlplane.cluster import ControlPlane
from shared.kube.client import Client, DryRun
from shared.kube.resources import CONFIG_MAPS, QUOTA_GROUPS, RESOURCE_FLAVORS
from tests.faults.kinds import FallSilent, LoseAnswer, Rule
from tests.faults.proxy import FaultProxy
from tests.webhook.edit_requests import (
    CREATIONS,
    ROOM,
    answer,
    children,
    create_all,
    quota_group,
    settled,
    until_settled,
)
from tests.webhook.refusing_webhook import REFUSED, refusing_webhook
from tests.webhook.rolling.replicas import NAMESPACE, Replicas

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_exactly_10_of_40_concurrent_creations_are_accepted_within_min_for_10(
    replicas: Replicas, client: Client, count: int
) -> None:
    await asyncio.to_thread(replicas.use, *range(count))
    for turn in range(3):
        await client.create(QUOTA_GROUPS, quota_group(f"p{turn}", gpu=ROOM, isParent=True))
        assert await create_all(client, f"p{turn}") == {0: ROOM, 422: CREATIONS - ROOM}
        assert len(await children(client, f"p{turn}")) == ROOM


async def test_one_of_two_moves_that_form_a_cycle_is_refused(replicas: Replicas, client: Client) -> None:
    await asyncio.to_thread(replicas.use, 0, 1)
    for name in ("a", "b"):
        await client.create(QUOTA_GROUPS, quota_group(name, isParent=True))
    for _ in range(10):
        answers = await asyncio.gather(
            settled(lambda: client.patch_merge(QUOTA_GROUPS, "a", {"spec": {"parent": "b"}})),
            settled(lambda: client.patch_merge(QUOTA_GROUPS, "b", {"spec": {"parent": "a"}})),
        )
        assert sorted(code for code, _ in answers) == [0, 422]
        assert any("(Cycle)" in message for _, message in answers)
        for name in ("a", "b"):
            await client.patch_merge(QUOTA_GROUPS, name, {"spec": {"parent": None}})


async def test_creation_of_a_child_and_deletion_of_its_parent_are_not_both_accepted(
    replicas: Replicas, client: Client
) -> None:
    await asyncio.to_thread(replicas.use, 0, 1)
    for turn in range(10):
        await client.create(QUOTA_GROUPS, quota_group(f"d{turn}", isParent=True))
        (child, message), (parent, why) = await asyncio.gather(
            settled(partial(client.create, QUOTA_GROUPS, quota_group(f"c{turn}", f"d{turn}"))),
            settled(partial(client.delete, QUOTA_GROUPS, f"d{turn}")),
        )
        stored = {each["metadata"]["name"] for each in await client.list_all(QUOTA_GROUPS, into=dict[str, Any])}
        if parent == 0 and child == 0:
            assert "does not exist yet" not in message
            assert f"d{turn}" not in stored
        else:
            assert (child, parent) == (0, 422), (message, why)
            assert "(DeletedWithChildren)" in why


async def test_killed_replica_accepts_no_more_than_the_parent_has(replicas: Replicas, client: Client) -> None:
    first, _ = await asyncio.to_thread(replicas.start, 2)
    await client.create(QUOTA_GROUPS, quota_group("p", gpu=ROOM, isParent=True))
    creations = [asyncio.create_task(until_settled(client, quota_group(f"p-{at}", "p", 1))) for at in range(CREATIONS)]
    await asyncio.sleep(0.3)
    await asyncio.to_thread(replicas.kill, first)
    assert Counter(await asyncio.gather(*creations)) == {0: ROOM, 422: CREATIONS - ROOM}
    assert len(await children(client, "p")) == ROOM


async def test_lagging_watch_accepts_no_more_than_the_parent_has(
    replicas: Replicas, client: Client, plain_control_plane: ControlPlane, tmp_path: Path
) -> None:
    with FaultProxy(plain_control_plane.url, plain_control_plane.ca_file).running() as proxy:
        await _start_without_watches(replicas, proxy, plain_control_plane, tmp_path)
        await client.create(QUOTA_GROUPS, quota_group("p", gpu=ROOM, isParent=True))
        assert await create_all(client, "p") == {0: ROOM, 422: CREATIONS - ROOM}


async def _start_without_watches(
    replicas: Replicas, proxy: FaultProxy, control_plane: ControlPlane, folder: Path
) -> None:
    """Two more replicas, whose watches report nothing more once they are ready."""
    names = ("replica-0", "replica-1")
    kubeconfigs = [proxy.side(name).kubeconfig(control_plane.kubeconfig, folder / name) for name in names]
    await asyncio.to_thread(replicas.start, 2, kubeconfigs)
    proxy.rules.append(Rule(FallSilent(), lambda asked: asked.is_watch))
    for name in names:
        proxy.side(name).cut()


async def test_write_with_a_lost_response_is_not_repeated(
    replicas: Replicas, client: Client, plain_control_plane: ControlPlane, tmp_path: Path
) -> None:
    with FaultProxy(plain_control_plane.url, plain_control_plane.ca_file).running() as proxy:
        kubeconfig = proxy.side("replica").kubeconfig(plain_control_plane.kubeconfig, tmp_path / "side")
        await asyncio.to_thread(replicas.start, 1, [kubeconfig])
        proxy.rules.append(Rule(LoseAnswer(), lambda asked: asked.method == "PUT", times=3))
        await client.create(QUOTA_GROUPS, quota_group("p", gpu=ROOM, isParent=True))
        assert await create_all(client, "p") == {0: ROOM, 422: CREATIONS - ROOM}
        assert proxy.faults() == 3


async def test_reservation_of_an_edit_refused_elsewhere_expires(
    replicas: Replicas, client: Client, plain_control_plane: ControlPlane
) -> None:
    await asyncio.to_thread(replicas.use, 0, 1)
    await client.create(QUOTA_GROUPS, quota_group("p", gpu=ROOM, isParent=True))
    with refusing_webhook(plain_control_plane):
        await _until_asked(client)
        began = time.monotonic()
        code, message = await answer(client.create(QUOTA_GROUPS, quota_group(REFUSED, "p", 8)))
        assert (code, "refused elsewhere" in message) == (403, True)
        assert (await answer(client.create(QUOTA_GROUPS, quota_group("fits", "p", 2))))[0] == 0
        code, message = await answer(client.create(QUOTA_GROUPS, quota_group("late", "p", 3)))
        assert code == 409
        assert "children promise 13 of default/gpu" in message
        assert (
            f"depends on an edit under way (creation of QuotaGroup {REFUSED}): try again, at the latest in" in message
        )
        assert await until_settled(client, quota_group("late", "p", 3)) == 0
        assert time.monotonic() - began > 11
        assert sorted(await children(client, "p")) == ["fits", "late"]


async def _until_asked(client: Client) -> None:
    """Wait until the new webhook configuration is in effect."""
    probe = quota_group(f"probe-{REFUSED}")
    for _ in range(600):
        if (await answer(client.create(QUOTA_GROUPS, probe, dry_run=DryRun.ALL)))[0] == 403:
            return
        await asyncio.sleep(0.1)
    raise AssertionError("the other webhook was never asked")


async def test_waiting_edit_does_not_block_others(
    replicas: Replicas, client: Client, plain_control_plane: ControlPlane
) -> None:
    await asyncio.to_thread(replicas.use, 0)
    await client.create(QUOTA_GROUPS, quota_group("p", gpu=ROOM, isParent=True))
    with refusing_webhook(plain_control_plane):
        await _until_asked(client)
        # Once is enough: an edit that blocks others does so each time. On a loaded machine it may have given up before.
        for turn in range(5):
            await answer(client.create(QUOTA_GROUPS, quota_group(f"{REFUSED}-{turn}", "p", 8)))
            waits = asyncio.create_task(answer(client.create(QUOTA_GROUPS, quota_group("waits", "p", 3))))
            await asyncio.sleep(0.5)
            assert (await answer(client.create(QUOTA_GROUPS, quota_group("fits", "p", 2))))[0] == 0
            passed = not waits.done()
            assert (await waits)[0] == 409
            if passed:
                return
            await client.delete(QUOTA_GROUPS, "fits")
    raise AssertionError("it is always answered after the one that waits")


async def test_exactly_10_edits_are_stored_when_some_are_refused_elsewhere_and_the_others_retry(
    replicas: Replicas, client: Client, plain_control_plane: ControlPlane
) -> None:
    await asyncio.to_thread(replicas.use, 0, 1)
    await client.create(QUOTA_GROUPS, quota_group("p", gpu=ROOM, isParent=True))
    with refusing_webhook(plain_control_plane):
        await _until_asked(client)
        names = [f"p-{at}-{REFUSED}" if at % 4 == 0 else f"p-{at}" for at in range(CREATIONS)]
        answers = await asyncio.gather(*(until_settled(client, quota_group(name, "p", 1)) for name in names))
    stored = await children(client, "p")
    assert len(stored) == ROOM
    assert not [name for name in stored if REFUSED in name]
    assert [code for code, name in zip(answers, names, strict=True) if (code == 0) != (name in stored)] == []


async def test_a_dry_run_reserves_nothing(replicas: Replicas, client: Client) -> None:
    await asyncio.to_thread(replicas.use, 0, 1)
    await client.create(QUOTA_GROUPS, quota_group("p", gpu=ROOM, isParent=True))
    asked = [quota_group(f"dry-{at}", "p", ROOM) for at in range(10)]
    tried = (answer(client.create(QUOTA_GROUPS, body, dry_run=DryRun.ALL)) for body in asked)
    assert {code for code, _ in await asyncio.gather(*tried)} == {0}
    assert (await answer(client.create(QUOTA_GROUPS, quota_group("real", "p", ROOM))))[0] == 0
    found = await client.get(CONFIG_MAPS, "quotree-edits", NAMESPACE, into=dict[str, Any])
    assert [each["name"] for each in json.loads(found["data"]["reservations"])] == ["real"]


async def test_deleted_coordination_object_is_created_again(replicas: Replicas, client: Client) -> None:
    await asyncio.to_thread(replicas.use, 0)
    for turn in range(3):
        assert (await answer(client.create(QUOTA_GROUPS, quota_group(f"g{turn}")))) == (0, "")
        await client.delete(CONFIG_MAPS, "quotree-edits", NAMESPACE)


async def test_reservations_of_a_deleted_coordination_object_still_count_while_watches_lag(
    replicas: Replicas, client: Client, plain_control_plane: ControlPlane, tmp_path: Path
) -> None:
    with FaultProxy(plain_control_plane.url, plain_control_plane.ca_file).running() as proxy:
        await _start_without_watches(replicas, proxy, plain_control_plane, tmp_path)
        await client.create(QUOTA_GROUPS, quota_group("p", gpu=ROOM, isParent=True))
        await client.create(QUOTA_GROUPS, quota_group("takes-all", "p", ROOM))
        await client.delete(CONFIG_MAPS, "quotree-edits", NAMESPACE)
        code, message = await answer(client.create(QUOTA_GROUPS, quota_group("one-more", "p", 1)))
        assert (code, f"children promise {ROOM + 1} of default/gpu" in message) == (422, True)


async def test_deletion_of_a_flavor_and_a_group_that_uses_it_are_not_both_accepted(
    replicas: Replicas, client: Client
) -> None:
    await asyncio.to_thread(replicas.use, 0, 1)
    for turn in range(6):
        flavor = {"apiVersion": "quotree.dev/v1alpha1", "kind": "ResourceFlavor", "metadata": {"name": f"f{turn}"}}
        await client.create(RESOURCE_FLAVORS, {**flavor, "spec": {}})
        user = quota_group(f"u{turn}", quotas=[{"flavor": f"f{turn}", "min": {"gpu": 1}}])
        (made, message), (gone, why) = await asyncio.gather(
            settled(partial(client.create, QUOTA_GROUPS, user)),
            settled(partial(client.delete, RESOURCE_FLAVORS, f"f{turn}")),
        )
        assert made == 0, message
        assert gone in (0, 422), why
        if gone == 422:
            assert f"cannot be deleted while groups use it (u{turn})" in why
