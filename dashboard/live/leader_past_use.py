"""The past use of groups as the leader knows it: the statuses of the groups show it minutes later."""

import asyncio
from datetime import timedelta
from typing import Final

import msgspec

from shared.api.api_service import VISIBILITY_GROUP, VISIBILITY_VERSION
from shared.cluster.leader_past_use import past_use_in
from shared.kube.client import Client
from shared.kube.errors import ApiError
from shared.kube.resources import Resource
from shared.quota.measure.inputs.world import PastUse

GROUP_EXPLANATIONS: Final = Resource(
    VISIBILITY_GROUP, VISIBILITY_VERSION, "groupexplanations", "GroupExplanation", namespaced=False
)
_PATIENCE: Final = timedelta(seconds=5)


async def leader_past_use(client: Client) -> PastUse | None:
    """Ask the visibility API; None where it is not served, not by the leader, or not to this user."""
    try:
        async with asyncio.timeout(_PATIENCE.total_seconds()):
            found = await client.list_all(GROUP_EXPLANATIONS, into=msgspec.Raw)
    except (ApiError, TimeoutError):
        return None
    return past_use_in(found)
