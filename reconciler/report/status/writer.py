"""The only code that writes status: each group at most once an interval, and only when it has changed.

Starts come before statuses: a round begins when no start is being written, and one that was slow, or that wrote many,
is followed by a long pause.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, NoReturn

import msgspec

from reconciler.report.latest_plan import LatestPlan
from reconciler.report.measures.wait_counts import WaitCounts
from reconciler.report.status.flavors import FlavorStatusWriter, flavors_without_nodes, nodes_of_group
from reconciler.report.status.groups import status_of
from shared.api.json.patches import add, test
from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.account_status import accounted_until, with_account, with_beside_children, with_budgets
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.faults.register import GROUP, Subject
from shared.cluster.state.group_history import past_use_to_write, with_past_use
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.kube.client import Client
from shared.kube.errors import ApiError, Conflict, NotFound, Unavailable
from shared.kube.resources import QUOTA_GROUPS
from shared.quota.decide.decisions import Plan
from shared.quota.measure.counts import Counts
from shared.quota.measure.inputs.world import OverSince
from shared.quota.measure.inputs.written_status import WrittenPastUse, read_past_use
from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.membership import stop_of
from shared.quota.model.tree import ROOT
from shared.resources import FlavorResource
from shared.telemetry import get_logger

_AT_ONCE: Final = 16
_SETTLING: Final = 0.2
"""The part of an interval between a change and the round that writes it: what follows from the change at once, such as
the start of a Job that has come, is not slowed down by statuses, and is written with it."""
_PAUSE: Final = 9
"""The least ratio of a pause to the round before it: statuses are written a tenth of the time."""
_PAUSE_PER_STATUS: Final = timedelta(milliseconds=100)
"""One status costs the API server about as much CPU as three patches of a Job."""
_LONGEST_PAUSE: Final = timedelta(seconds=5)
_GIVEN_WAY: Final = timedelta(milliseconds=20)
_LONGEST_WAIT: Final = timedelta(seconds=1)
"""How long a round gives way to writes of decisions, checked every `_GIVEN_WAY`."""
_YIELD_EVERY: Final = 50
"""After this many groups the event loop runs other tasks: a decision must not wait for statuses."""

_BETWEEN_COUNTS: Final = 5.0
"""Seconds from the end of one count of reasons to the next one."""
_AT_A_TIME: Final = 0.005
_PAUSE_IN_COUNT: Final = 0.2
"""Seconds: 10,000 that wait are counted in half a minute, with a fortieth of one core."""

log = get_logger(__name__)


def pause_after(took: timedelta, written: int, interval: timedelta) -> timedelta:
    """Return the pause after a round of that duration in which so many statuses were written."""
    return max(interval, min(max(_PAUSE * took, _PAUSE_PER_STATUS * written), _LONGEST_PAUSE))


class _Round(NamedTuple):
    """What the statuses of one round are made from."""

    snapshot: Snapshot
    now: datetime
    over: Mapping[str, OverSince]
    """group → since when it is over its runtime, by leaf and key."""
    empty: Mapping[str, str]
    """Flavor → why it has no nodes."""


class StoredStatuses:
    """The statuses of groups as they are stored, as far as this process knows, and the writes of others."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._written: dict[str, QuotaGroupStatus | None] = {}
        """uid of the group → the last written status, which the watch might not have reported yet; None: the last
        write had no answer, and might have been stored."""

    def is_stored(self, record: GroupStatusRecord, status: QuotaGroupStatus) -> bool:
        """Return whether the group certainly has this status."""
        return status == self._written.get(record.uid, record.status)

    def shown(self, record: GroupStatusRecord) -> QuotaGroupStatus:
        """Return the status from which the next one goes on."""
        return self._written.get(record.uid) or record.status

    async def write(self, name: str, uid: str, status: QuotaGroupStatus, shown: QuotaGroupStatus) -> None:
        """Write the status. `shown`: the one that its account goes on from. Raises ApiError if it is not stored."""
        operations = [test(("metadata", "uid"), uid), add(("status",), status)]
        if shown.observed_generation:
            # Another leader's account must not be replaced by an earlier one, nor by none: null is an absent member.
            operations.insert(1, test(("status", "accountedUntil"), msgspec.to_builtins(shown.accounted_until)))
        async with self._slots:
            try:
                await self._client.patch_json(QUOTA_GROUPS, name, operations, subresource="status")
            except (NotFound, Conflict, Unavailable):
                self._written[uid] = None
                raise
        self._written[uid] = status


class StatusWriter:
    """Writes the latest snapshot; those in between are skipped."""

    def __init__(self, client: Client, state: ClusterState, interval: timedelta) -> None:
        self.gives_way: Callable[[], bool] = lambda: False
        """Whether a decision is being written now."""
        self._state = state
        self._interval = interval
        self._flavors = FlavorStatusWriter(client)
        self._latest: tuple[Snapshot, OverSince] | None = None
        self._changed = asyncio.Event()
        self._counts = Counts()
        self._waits = WaitCounts()
        self._stored = StoredStatuses(client)
        self._computed_from: dict[str, tuple[object, ...]] = {}

    def show(self, snapshot: Snapshot, over_since: OverSince) -> None:
        """Set the snapshot to write next."""
        self._latest = (snapshot, over_since)
        self._changed.set()

    async def run(self) -> NoReturn:
        """Write changed statuses, indefinitely."""
        while True:
            await self._changed.wait()
            await asyncio.sleep((_SETTLING * self._interval).total_seconds())
            await self._give_way()
            self._changed.clear()
            began, written = time.monotonic(), 0
            if self._latest is not None:
                written = await self._write_all(*self._latest)
            took = timedelta(seconds=time.monotonic() - began)
            await asyncio.sleep(pause_after(took, written, self._interval).total_seconds())

    async def _give_way(self) -> None:
        """Wait while decisions are being written."""
        for _ in range(_LONGEST_WAIT // _GIVEN_WAY):
            if not self.gives_way():
                return
            await asyncio.sleep(_GIVEN_WAY.total_seconds())

    async def _write_all(self, snapshot: Snapshot, over_since: OverSince) -> int:
        """Write the statuses that have changed; return how many there were.

        Those of leaves first: a leader that ends meanwhile leaves no parent with more in its account than its children.
        """
        now = datetime.now(UTC)
        current = _Round(snapshot, now, _by_group(over_since), flavors_without_nodes(snapshot))
        records = list(self._state.tree.groups.values())
        leaves = [each for each in records if not each.group.is_parent]
        parents = [each for each in records if each.group.is_parent]
        written = await self._write_groups(leaves, current) + await self._write_groups(parents, current)
        return written + await self._write_flavors(snapshot, now)

    async def _write_groups(self, records: Sequence[GroupStatusRecord], current: _Round) -> int:
        writes = []
        for place, record in enumerate(records):
            if place % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
            name, status = record.group.name, None
            with self._state.faults.about(Subject(GROUP, name, record.uid)):
                status = self._changed_status(record, current)
            if status is not None:
                writes.append(self._write(name, record.uid, status, self._stored.shown(record)))
        await asyncio.gather(*writes)
        return len(writes)

    async def _write_flavors(self, snapshot: Snapshot, now: datetime) -> int:
        try:
            return await self._flavors.write(snapshot, now)
        except ApiError as error:
            self._changed.set()
            log.warning("Status of flavors not written", error=str(error))
            return 0

    def _changed_status(self, record: GroupStatusRecord, current: _Round) -> QuotaGroupStatus | None:
        """Return the status to be written; None: it is written."""
        name, snapshot, now = record.group.name, current.snapshot, current.now
        if name not in snapshot.world.tree or not self._is_changed(record, current):
            return None
        over, waiting = current.over.get(name, {}), self._waiting(record, snapshot)
        status = status_of(record, snapshot, over, self._counts, now, empty=current.empty, waiting=waiting)
        status = with_past_use(status, self._past_use(record))
        shown, until = self._stored.shown(record), self._accounted_until(record)
        status = with_account(status, name, shown, until, self._state.accounts)
        status = with_beside_children(status, name, shown, self._state.accounts)
        status = with_budgets(status, snapshot.world.tree[name], shown, self._state.accounts, now)
        return None if self._stored.is_stored(record, status) else status

    def _accounted_until(self, record: GroupStatusRecord) -> datetime | None:
        return accounted_until(record.group.name, self._state.accounts, self._stored.shown(record))

    def _waiting(self, record: GroupStatusRecord, snapshot: Snapshot) -> Mapping[str, int]:
        """Return how many wait for which reason; as it is stored until all were counted once."""
        waits = self._waits
        if not waits.is_complete:
            return self._stored.shown(record).workloads.waiting
        return waits.below(snapshot.world.tree, record.group.name)

    async def count_waits(self, latest: LatestPlan) -> NoReturn:
        """Count why workloads wait, one plan after another, indefinitely."""
        counted: Plan | None = None
        while True:
            await asyncio.sleep(_BETWEEN_COUNTS)
            if latest.plan is None or latest.plan is counted:
                continue
            counted = latest.plan
            until = time.monotonic() + _AT_A_TIME
            for _ in self._waits.count(counted, self._state.faults):
                if time.monotonic() > until:
                    await asyncio.sleep(_PAUSE_IN_COUNT)
                    until = time.monotonic() + _AT_A_TIME
            self._changed.set()

    def _past_use(self, record: GroupStatusRecord) -> WrittenPastUse:
        shown = read_past_use(self._stored.shown(record))
        return past_use_to_write(record.group.name, self._state.history, shown)

    def _is_changed(self, record: GroupStatusRecord, current: _Round) -> bool:
        """Return whether any input of the status has changed since it was last computed."""
        name, snapshot = record.group.name, current.snapshot
        tree = snapshot.world.tree
        computed_from = (
            snapshot.numbers.get(name),
            self._counts.below(snapshot, name),
            self._waiting(record, snapshot),
            snapshot.inactive.get(name),
            stop_of(tree, name),
            snapshot.capacity if name == ROOT else None,
            snapshot.tree[name].quotas if snapshot.tree.has_percents else None,
            record.generation,
            record.group.deleting,
            current.over.get(name, {}),
            self._past_use(record).time,
            self._accounted_until(record),
            None if self._state.accounts is None else self._state.accounts.beside(name),
            tree[name].spent,
            nodes_of_group(name, snapshot, current.empty),
        )
        if self._computed_from.get(record.uid) == computed_from:
            return False
        self._computed_from[record.uid] = computed_from
        return True

    async def _write(self, name: str, uid: str, status: QuotaGroupStatus, shown: QuotaGroupStatus) -> None:
        try:
            await self._stored.write(name, uid, status, shown)
        except ApiError as error:
            self._computed_from.pop(uid, None)
            if not isinstance(error, (NotFound, Conflict)):
                self._changed.set()
                log.warning("Status not written", group=name, error=str(error))
        except Exception as error:
            self._state.faults.note(Subject(GROUP, name, uid), error)


def _by_group(over_since: OverSince) -> dict[str, dict[tuple[str, FlavorResource], datetime]]:
    found: dict[str, dict[tuple[str, FlavorResource], datetime]] = {}
    for where, since in over_since.items():
        found.setdefault(where[0], {})[where] = since
    return found
