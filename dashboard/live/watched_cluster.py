"""Watches what the user can read, and reports refused lists, each of which costs only its part of the pages."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from dashboard.live.leader_lease import LeaderLease
from dashboard.live.leader_past_use import leader_past_use
from dashboard.live.pulse import Pulse
from dashboard.live.served_reasons import ServedReasons
from dashboard.view.frame import ServedReason, Standing
from shared.api.names import RECONCILER_LEASE
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.group_history import history_of, over_since_of
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.cluster.watches import watch_everything
from shared.kinds.kind import Kinds
from shared.kube.client import Client
from shared.kube.errors import Forbidden, NotFound
from shared.kube.watch.cache import Change
from shared.kube.watch.watches import Watches
from shared.quota.measure.inputs.past_use import UseHistory
from shared.quota.measure.inputs.world import OverSince, PastUse, World
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import WorkloadId

_POLL: Final = timedelta(milliseconds=50)
_LOST: Final = (
    ("quotagroups", "the tree is not shown"),
    ("resourceflavors", "flavors are not shown"),
    ("nodes", "nodes and the capacity are not shown"),
    ("jobs", "queues and running Jobs are not shown"),
    ("pods", "pods and what they use are not shown"),
    ("pods of groups", "groups of pods are not shown"),
    ("pods of other kinds", "pods of governed objects are not shown"),
)


class ObservedState(ClusterState):
    """The cluster's state, which also tells of a group's status: that changes no decision, but a page."""

    def __init__(self, settings: QuotaSettings, on_group: Callable[[], None]) -> None:
        super().__init__(settings)
        self._on_group = on_group

    def observe_groups(self, changes: Sequence[Change[GroupStatusRecord]]) -> None:
        """QuotaGroups appeared, changed or went, or their status did."""
        super().observe_groups(changes)
        self._on_group()


@dataclass(frozen=True, slots=True)
class Sighting:
    """What is seen at one moment. `is_complete`: everything that a decision depends on is.

    `refusals`: one sentence for each kind that cannot be read. `pending`: what has not been read yet. `standing`: since
    when nothing new is seen, and why. `served`: what the visibility API says, where it is not complete.
    `leaderless_since`: when the last reconciler led.
    """

    now: datetime
    world: World
    groups: Mapping[str, GroupStatusRecord]
    is_complete: bool
    refusals: tuple[str, ...]
    pending: tuple[str, ...]
    standing: Standing | None
    served: Mapping[WorkloadId, ServedReason]
    leaderless_since: datetime | None


class WatchedCluster:
    """The watches and the state behind them. `changed` is set whenever a sighting may differ from the last."""

    def __init__(
        self,
        client: Client,
        settings: QuotaSettings,
        kinds: Kinds,
        namespace: str | None,
        lease: str = RECONCILER_LEASE,
    ) -> None:
        """`lease`: the name of the reconciler's Lease."""
        self.changed = asyncio.Event()
        self._state = ObservedState(settings, self.changed.set)
        self._watches = Watches()
        self._namespace = namespace
        self._client = client
        self._leader_past: PastUse | None = None
        self._leader_was_asked = False
        self._has_past = False
        self._pulse = Pulse(client, self._watches, self.changed.set)
        self._leader = LeaderLease(client, lease, self.changed.set)
        self._served = ServedReasons(client, namespace, lambda: bool(self._refusals()), self.changed.set)
        watch_everything(client, self._state, self._watches, self.changed.set, namespace=namespace, kinds=kinds)

    async def run(self) -> None:
        """Watch until cancelled."""
        self._state.advance(datetime.now(UTC))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watches.run(), name="watches")
            group.create_task(self._pulse.run(), name="pulse")
            group.create_task(self._served.run(), name="served reasons")
            group.create_task(self._leader.run(), name="leader")
            group.create_task(self._ask_leader(), name="past use")
            group.create_task(self._tell_of_progress(), name="progress")

    def look(self, now: datetime) -> Sighting:
        """Freeze what is seen now; costs what changed since the last call."""
        members = self._watches.members
        pending = tuple(
            f"{each.name}: {each.health.trouble or 'listing'}"
            for each in members
            if not _is_read(each.synced, each.health.failure)
        )
        if not self._leader_was_asked:
            pending = (*pending, "past use: asking the leader")
        refusals = tuple(self._refusals())
        is_complete = not pending and not refusals
        if is_complete and not self._has_past:
            self._read_past(now)
        world = self._state.world_at(now)
        groups = MappingProxyType(dict(self._state.tree.groups))
        standing, served = self._pulse.standing, self._served.known
        return Sighting(now, world, groups, is_complete, refusals, pending, standing, served, self._leader.gone_since)

    def remember_over(self, over_since: OverSince) -> None:
        """Set since when leaves have been over their runtime, for the next sighting."""
        self._state.remember_over(over_since)

    async def _ask_leader(self) -> None:
        if self._state.settings.fairness_half_life:
            self._leader_past = await leader_past_use(self._client)
        self._leader_was_asked = True
        self.changed.set()

    def _read_past(self, now: datetime) -> None:
        """Start from what the leader knows, else from the statuses; then follow it as the reconciler does."""
        self._has_past = True
        groups = self._state.tree.groups.values()
        self._state.watched_since(now)
        self._state.remember_over(over_since_of(groups, self._state.faults))
        half_life, known = self._state.settings.fairness_half_life, self._leader_past
        written = history_of(groups, half_life, now, self._state.faults)
        self._state.history = written if known is None else UseHistory.read(half_life, known, now, written.requesters)

    def _refusals(self) -> list[str]:
        lost = dict(_LOST)
        found = [
            f"{lost.get(each.name, 'reasons are not computed')}: {each.health.failure.message}"
            for each in self._watches.members
            if each.health.failure is not None and not each.synced.is_set()
        ]
        if self._namespace is not None:
            found.append(f"only workloads of namespace {self._namespace} are shown, as asked for with --namespace")
        return found

    async def _tell_of_progress(self) -> None:
        """A watch that syncs empty or is refused changes no record: look at each now and then."""
        before: list[bool] = []
        while True:
            states = [_is_read(each.synced, each.health.failure) for each in self._watches.members]
            if states != before:
                self.changed.set()
            before = states
            all_read = all(states)
            await asyncio.sleep((_POLL * 20 if all_read else _POLL).total_seconds())


def _is_read(synced: asyncio.Event, failure: Exception | None) -> bool:
    return synced.is_set() or isinstance(failure, Forbidden | NotFound)
