"""The composition root of the reconciler: every replica watches, the leader decides and writes."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from reconciler.cycle import CycleRunner, Reports
from reconciler.leader_sync import catch_up
from reconciler.recording.folder import RecordingFolder
from reconciler.recording.recording import Recording
from reconciler.report.account_metrics import AccountCollector
from reconciler.report.account_start import start_accounts
from reconciler.report.events.decisions import WorkloadEvents
from reconciler.report.events.groups import GroupEvents
from reconciler.report.events.pending import PendingEvents
from reconciler.report.events.placement import PlacementEvents
from reconciler.report.events.preemptions import PreemptionReports
from reconciler.report.events.quota_groups import QuotaGroupEvents
from reconciler.report.fault_reports import FaultReports
from reconciler.report.latest_plan import LatestPlan
from reconciler.report.metrics import ReconcilerMetrics
from reconciler.report.status.writer import StatusWriter
from reconciler.settings import ReconcilerSettings
from reconciler.visibility.copies.answering import CopiedWorld
from reconciler.visibility.copies.making import CopyMaker
from reconciler.visibility.forecast_checks import ForecastChecks
from reconciler.visibility.front.settings import FrontSettings
from reconciler.visibility.serving import Visibility
from reconciler.wake import Wake
from reconciler.write.builtin_objects import create_absent
from reconciler.write.deletions import Deletions
from reconciler.write.executor import Executor
from reconciler.write.pod_groups import PodGroups
from reconciler.write.workload_writer import WorkloadWriter
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.group_history import history_of, over_since_of
from shared.cluster.watches import watch_everything
from shared.kube.client import Client
from shared.kube.errors import ApiError
from shared.kube.events.recorder import EventRecorder
from shared.kube.lead.holder_pods import gone_pods
from shared.kube.lead.lease import LeaseMark
from shared.kube.lead.own_thread import ElectionThread
from shared.kube.lead.vacant_lease import vacant_lease
from shared.kube.metrics import expose_election, expose_events, expose_watches
from shared.kube.watch.memory import collect_seldom, freeze_memory
from shared.kube.watch.watches import Watches
from shared.process.common_settings import home_namespace, instance_name
from shared.process.running import Process
from shared.quota.measure.accounts.account_book import AccountBook
from shared.telemetry import get_logger

_TO_FINISH: Final = timedelta(seconds=4)
"""The time limit for pending writes when this process stops leading; less than the election waits for it."""
_TO_LOOK: Final = timedelta(seconds=2)
"""The time limit for reading the Lease before anything is listed."""

log = get_logger(__name__)


class Reconciler:
    """All parts of one process."""

    def __init__(self, process: Process, client: Client, settings: ReconcilerSettings) -> None:
        self._process = process
        self._client = client
        self._settings = settings
        self._wake = Wake()
        self._state = ClusterState(settings.quota.settings())
        self._watches = Watches()
        self._workload_watches = watch_everything(
            client, self._state, self._watches, self._observe, kinds=settings.governed
        )
        self._election = ElectionThread(
            client,
            settings.leader_election.settings(),
            settings.leader_election.stall_limit,
            lambda own: gone_pods(own, home_namespace("")),
        )
        self._vacant_at_start: LeaseMark | None = None
        """The Lease before anything was listed, if no process held it."""
        self._metrics = ReconcilerMetrics(process.registry, self._state.faults)
        process.registry.register(AccountCollector(self._state))
        self._faults = FaultReports(self._state.faults, process.registry)
        self._state.faults.when_new = self._wake.request
        self._latest_plan = LatestPlan()
        expose_watches(process.registry, self._watches)
        expose_election(process.registry, self._election.may_write)

    async def run(self) -> None:
        """Sync, then take part in the election, and lead."""
        self._process.health.add_check("watches", self._watches.problem)
        collect_seldom()
        lease = self._settings.leader_election.settings()
        self._state.advance(datetime.now(UTC))
        self._vacant_at_start = await vacant_lease(self._client.within(_TO_LOOK), lease)
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._watches.run(), name="watches")
            await self._watches.all_synced()
            self._state.watched_since(datetime.now(UTC))
            freeze_memory()
            log.info("Caches synced", groups=len(self._state.tree.groups))
            electing = group.create_task(self._election.run(self._lead), name="election")
            serving = [group.create_task(each.run(), name="visibility") for each in self._visibility()]

            async def stop() -> None:
                electing.cancel()
                await asyncio.wait({electing})

            self._process.on_stop(stop)
            await asyncio.wait({electing})
            for task in (watching, *serving):
                task.cancel()

    def _observe(self) -> None:
        self._faults.tell()
        self._wake.observe(workload_comes=self._state.work.index.pending_came)

    def _visibility(self) -> Iterator[Visibility]:
        """Serve the visibility API, if it is enabled."""
        wanted = self._settings
        if wanted.visibility.enabled:
            front = FrontSettings(wanted.connection, wanted.log, wanted.visibility, wanted.home)
            world = CopiedWorld(self._state, self._latest_plan, wanted.governed, self._election.vacant_since)
            copies = CopyMaker(world.answer)
            yield Visibility(front, copies, self._process.registry)

    async def _lead(self) -> None:
        if self._vacant_at_start is None or self._election.taken_from != self._vacant_at_start:
            await catch_up(self._client, self._workload_watches)
        await self._create_built_in()
        groups = self._state.tree.groups.values()
        self._state.remember_over(over_since_of(groups, self._state.faults))
        half_life = self._state.settings.fairness_half_life
        self._state.history = history_of(groups, half_life, datetime.now(UTC), self._state.faults)
        book = self._state.accounts = AccountBook(self._settings.accounts.zone, self._settings.accounts.keep)
        recorder = EventRecorder(self._client, "quotree.dev/reconciler", instance_name())
        expose_events(self._process.registry, recorder)
        guarded = self._client.guarded(self._election.time_left)
        status = StatusWriter(guarded, self._state, self._settings.status_interval)
        deletions = Deletions(guarded)
        writer = WorkloadWriter(self._client, self._election.time_left)
        events = WorkloadEvents(recorder)
        pending_events = PendingEvents(self._state.work, events)
        placement_events = PlacementEvents(self._state.work, events)
        preemptions = PreemptionReports(self._state.work.follow_ups, events, self._metrics.evictions)
        group_events = GroupEvents(self._state, events, QuotaGroupEvents(recorder), pending_events, placement_events)
        made = self._workload_watches.pod_groups
        pod_groups = None if made is None else PodGroups(guarded, self._state.work.follow_ups, made)
        recording = self._recording()
        reports = Reports(status, group_events, self._latest_plan, self._faults, deletions, pod_groups, recording)
        async with asyncio.TaskGroup() as group:
            executor = Executor(
                self._state, writer, events, self._metrics, spawn=group.create_task, wake=self._wake.request
            )
            # Starts and evictions come before what tells about them.
            recorder.gives_way = status.gives_way = executor.is_busy
            if recording is not None:
                recording.gives_way = executor.is_busy
            pending_events.write = executor.annotator.say_why_it_waits
            if pod_groups is not None:
                pod_groups.say_refused = executor.annotator.say_pod_group_refused
            helpers = [
                group.create_task(recorder.run(), name="events"),
                group.create_task(start_accounts(self._client, self._state, book, self._wake.request), name="accounts"),
                group.create_task(status.run(), name="status"),
                group.create_task(status.count_waits(self._latest_plan), name="counts of waits"),
                group.create_task(deletions.run(), name="deletions"),
                *([] if pod_groups is None else [group.create_task(pod_groups.run(), name="pod groups")]),
                group.create_task(pending_events.run(), name="pending events"),
                group.create_task(placement_events.run(), name="placement events"),
                group.create_task(preemptions.run(), name="preemptions by kube-scheduler"),
                group.create_task(self._metrics.groups.sample(), name="samples of metrics"),
                group.create_task(
                    ForecastChecks(self._state, self._latest_plan, book.uses.foresee).run(), name="checks of forecasts"
                ),
                *([] if recording is None else [group.create_task(recording.run(), name="recording")]),
            ]
            try:
                self._wake.request()
                await CycleRunner(self._state, reports, self._metrics, self._wake).run(executor)
            finally:
                if not await executor.finish(within=min(_TO_FINISH, self._election.time_left())):
                    self._election.let_expire()
                self._state.accounts = None
                self._latest_plan.clear()
                for helper in helpers:
                    helper.cancel()

    def _recording(self) -> Recording | None:
        """Return what records while this process leads, if that is enabled."""
        wanted = self._settings.recording
        if not wanted.enabled:
            return None
        folder = RecordingFolder(Path(wanted.folder), wanted.most_bytes, instance_name(), self._election.order)
        metrics, may_write = self._metrics.recording, self._election.may_write
        return Recording(self._client, folder, metrics, self._watches.members, may_write)

    async def _create_built_in(self) -> None:
        """Create the built-in groups; retried indefinitely, because nothing can be decided without root."""
        while True:
            try:
                return await create_absent(self._client, set(self._state.tree.groups), set(self._state.tree.flavors))
            except ApiError as error:
                log.warning("Built-in objects not created", error=str(error))
                await asyncio.sleep(2)
