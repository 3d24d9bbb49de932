"""What the visibility API says to users who cannot see all that a reason depends on: why each workload waits."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final, NoReturn

import msgspec

from dashboard.live.leader_past_use import GROUP_EXPLANATIONS
from dashboard.view.frame import ServedReason
from shared.api.api_service import VISIBILITY_GROUP, VISIBILITY_VERSION
from shared.json_data import Json
from shared.kube.client import Client
from shared.kube.errors import ApiError
from shared.kube.resources import Resource
from shared.quota.model.workload import WorkloadId
from shared.text.pending import cause_of

_PENDING: Final = Resource(VISIBILITY_GROUP, VISIBILITY_VERSION, "pendingworkloads", "PendingWorkload", namespaced=True)
_EXPLANATIONS: Final = Resource(VISIBILITY_GROUP, VISIBILITY_VERSION, "explanations", "Explanation", namespaced=True)
_ABSENT: Final[Json] = {"reason": None, "startsAt": None, "flavors": [], "remedies": [], "position": 0}
"""Members of an explanation that the API leaves out when they are empty."""
_PAUSE: Final = timedelta(seconds=5)
_PAUSE_UNSERVED: Final = timedelta(seconds=30)
_PATIENCE: Final = timedelta(seconds=10)
"""An explanation by name takes up to 8 seconds: its remedies are tried."""


class _Metadata(msgspec.Struct):
    name: str
    namespace: str


class _Status(msgspec.Struct):
    kind: str = "Job"
    position: int = 0
    reason: str = ""
    message: str = ""


class _PendingWorkload(msgspec.Struct):
    metadata: _Metadata
    status: _Status

    @property
    def id(self) -> WorkloadId:
        """An object has the name of its workload; of another kind than Job, with the kind after it."""
        kind, name = self.status.kind, self.metadata.name
        name = name if kind == "Job" else name.removesuffix(f".{kind.lower()}")
        return WorkloadId(kind, f"{self.metadata.namespace}/{name}")


class _Explanation(msgspec.Struct):
    status: Json


class _GroupStatus(msgspec.Struct):
    division: list[Json] = []


class _GroupExplanation(msgspec.Struct):
    status: _GroupStatus


class ServedReasons:
    """The reasons that the API gave last, of one namespace or all; nothing is asked while `is_needed` says no."""

    def __init__(
        self, client: Client, namespace: str | None, is_needed: Callable[[], bool], on_change: Callable[[], None]
    ) -> None:
        self.known: Mapping[WorkloadId, ServedReason] = {}
        self._client = client.within(_PATIENCE)
        self._namespace = namespace
        self._is_needed = is_needed
        self._on_change = on_change

    async def run(self) -> NoReturn:
        """Ask until cancelled."""
        while True:
            found = await self._ask() if self._is_needed() else {}
            if (found or {}) != self.known:
                self.known = found or {}
                self._on_change()
            await asyncio.sleep((_PAUSE if found is not None else _PAUSE_UNSERVED).total_seconds())

    async def _ask(self) -> Mapping[WorkloadId, ServedReason] | None:
        """Return None where it is not served, or not to this user."""
        try:
            async with asyncio.timeout(_PATIENCE.total_seconds()):
                found = await self._client.list_all(_PENDING, self._namespace, into=_PendingWorkload)
        except (ApiError, TimeoutError):
            return None
        return {
            each.id: ServedReason(each.status.position, each.status.reason, cause_of(each.status.message))
            for each in found
        }


async def served_division(client: Client, group: str) -> Sequence[Json]:
    """Return how a group comes to its runtime, from the API; empty where it is not served, or not to this user."""
    try:
        found = await client.within(_PATIENCE).get(GROUP_EXPLANATIONS, group, into=_GroupExplanation)
    except ApiError:
        return ()
    return found.status.division


async def served_explanation(client: Client, kind: str, key: str) -> Json | None:
    """Return what `quotree explain` tells this user, from the API; None where it is not served, or not to this user."""
    namespace, _, name = key.partition("/")
    name = name if kind == "Job" else f"{name}.{kind.lower()}"
    try:
        found = await client.within(_PATIENCE).get(_EXPLANATIONS, name, namespace, into=_Explanation)
    except ApiError:
        return None
    return _ABSENT | found.status
