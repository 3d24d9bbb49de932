"""An edit that takes more from siblings is refused while the API server does not say who can edit the parent."""

import asyncio
from pathlib import Path

import pytest

from dev.controlplane.cluster import ControlPlane
from shared.kube.client import Client
from shared.kube.resources import QUOTA_GROUPS
from tests.faults.kinds import Refuse, Rule
from tests.faults.proxy import FaultProxy
from tests.webhook.edit_requests import answer, children, quota_group
from tests.webhook.rolling.replicas import Replicas

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("code", [403, 500, 503])
async def test_edit_is_refused_without_an_answer_about_the_parent(
    replicas: Replicas, client: Client, plain_control_plane: ControlPlane, tmp_path: Path, code: int
) -> None:
    with FaultProxy(plain_control_plane.url, plain_control_plane.ca_file).running() as proxy:
        kubeconfig = proxy.side("replica").kubeconfig(plain_control_plane.kubeconfig, tmp_path / "side")
        await asyncio.to_thread(replicas.start, 1, [kubeconfig])
        await client.create(QUOTA_GROUPS, quota_group("p", gpu=4, isParent=True))
        await client.create(QUOTA_GROUPS, quota_group("empty"))
        proxy.rules.append(Rule(Refuse(code), lambda asked: asked.path.endswith("/subjectaccessreviews")))
        status, message = await answer(client.create(QUOTA_GROUPS, quota_group("a", "p", 2)))
        assert (status, "(NotReady)" in message, await children(client, "p")) == (503, True, [])
        closed = {"spec": {"stopPolicy": "Close"}}
        assert await answer(client.patch_merge(QUOTA_GROUPS, "empty", closed)) == (0, "")
        proxy.rules.clear()
        assert await answer(client.create(QUOTA_GROUPS, quota_group("a", "p", 2))) == (0, "")
