"""Every state of every Job that the API server has shown, and what must never be among them."""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from dev.controlplane.cluster import ControlPlane
from shared.api.annotations import read_annotations
from shared.api.core.job import Job, read_job
from shared.api.core.pod_request import effective_request
from shared.api.names import GROUP_LABEL
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.resources import JOBS
from shared.kube.shapes import ObjectMetadata
from shared.kube.watch.cache import Change, Changed
from shared.kube.watch.watching import Watch

LONGEST_WAIT = 60
"""Seconds."""


@dataclass(slots=True)
class History:
    """Jobs by uid, each with its states in order; and all changes in order."""

    states: dict[str, list[Job]] = field(default_factory=lambda: defaultdict(list))
    changes: list[tuple[str, Job | None]] = field(default_factory=list)

    def see(self, changes: Sequence[Change[Job]]) -> None:
        """Process a batch of the watch."""
        for change in changes:
            if isinstance(change, Changed):
                record = change.after or change.before
                assert record is not None
                self.changes.append((record.metadata.uid, change.after))
                if change.after is not None:
                    self.states[record.metadata.uid].append(change.after)

    def starts(self) -> dict[str, int]:
        """Name of each Job -> how often it went from suspended to not."""
        return {
            states[0].metadata.name: sum(
                1 for before, after in pairwise(states) if before.spec.suspend > after.spec.suspend
            )
            for states in self.states.values()
        }

    def evictions(self) -> dict[str, int]:
        """Name of each Job -> how often it went from running to suspended."""
        return {
            states[0].metadata.name: sum(
                1 for before, after in pairwise(states) if before.spec.suspend < after.spec.suspend
            )
            for states in self.states.values()
        }

    def most_used(self) -> int:
        """The most cpu, in millicores, that Jobs have held at one time, until their pods had ended."""
        used: dict[str, int] = {}
        most = 0
        for uid, job in self.changes:
            used[uid] = 0 if job is None else cpu_held(job)
            most = max(most, sum(used.values()))
        return most

    def wrongs(self) -> Iterator[str]:
        """What no Job may ever be, whatever the quota."""
        for states in self.states.values():
            for before, after in pairwise(states):
                name = after.metadata.name
                notes = read_annotations(after.metadata.annotations)
                if not after.spec.suspend and notes.admission is None and GROUP_LABEL in after.metadata.labels:
                    yield f"{name} runs without an admission"
                if before.spec.suspend and not after.spec.suspend and before.has_pods:
                    yield f"{name} started again before its pods had ended"
                if not before.spec.suspend and after.spec.suspend and notes.eviction is None:
                    yield f"{name} was stopped without a reason"


def cpu_held(job: Job) -> int:
    """Millicores that the Job's pods may be using now. It is Complete a moment after its last pod has succeeded."""
    if job.has_finished or (job.spec.suspend and not job.has_pods):
        return 0
    return effective_request(job.spec.template.spec).get("cpu", 0) * job.pods_left


@contextmanager
def recording(control_plane: ControlPlane) -> Iterator[History]:
    """Watch all Jobs while the block runs, from a thread of its own; what the block has seen is in it at its end."""
    history = History()
    loop = asyncio.new_event_loop()
    ready, stopping = threading.Event(), asyncio.Event()
    has_failed = False

    async def record() -> None:
        async with connected(ConnectionSettings(kubeconfig=str(control_plane.kubeconfig))) as connection:
            client = Client(connection)
            watch = Watch(client, JOBS, read_job, history.see)
            watching = asyncio.create_task(watch.run())
            await watch.synced.wait()
            ready.set()
            await stopping.wait()
            if not has_failed:
                await _caught_up(client, watch)
            watching.cancel()
            await asyncio.wait({watching})

    thread = threading.Thread(target=lambda: loop.run_until_complete(record()), name="history", daemon=True)
    thread.start()
    assert ready.wait(LONGEST_WAIT), "the history's watch has not synced"
    try:
        yield history
    except BaseException:
        has_failed = True
        raise
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(LONGEST_WAIT)
        assert not thread.is_alive(), "the history's watch has not caught up"
        loop.close()


async def _caught_up(client: Client, watch: Watch[Job]) -> None:
    """Wait until the watch has told of the newest change of a Job."""
    jobs = await client.list_all(JOBS, into=ObjectMetadata)
    newest = max((int(each.metadata.resource_version) for each in jobs), default=0)
    while int(watch.version or 0) < newest:  # noqa: ASYNC110 - what is waited for comes from another process
        await asyncio.sleep(0.02)


def counts(numbers: Mapping[str, int]) -> dict[int, int]:
    """How many Jobs have each number."""
    found: dict[int, int] = defaultdict(int)
    for number in numbers.values():
        found[number] += 1
    return dict(found)
