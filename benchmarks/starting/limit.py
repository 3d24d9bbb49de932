"""The limit as a contender: a process that resumes each suspended Job by one JSON Patch as soon as it sees it."""

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.starting.contender import TWENTY, Contender
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.host.processes import AS_MODULE, Process
from shared.api.core.job import Job, read_job
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.resources import JOBS
from shared.kube.watch.cache import Change, Changed
from shared.kube.watch.watching import Watch

LABEL = "benchmarks.quotree.dev/leaf"
PROGRAM = "benchmarks.starting.limit"
ROOT = Path(__file__).parents[2]


@contextmanager
def limit(control_plane: ControlPlane, run: Sequence[str] = AS_MODULE) -> Iterator[Contender]:
    """No quota, no webhook, no status: what the API server and the Job controller can take.

    `run`: what Python gets before the name of its module.
    """
    ready = control_plane.workdir / "limit.ready"
    process = Process(
        "limit",
        [sys.executable, *run, PROGRAM, str(control_plane.kubeconfig), str(ready)],
        log=control_plane.workdir / "limit.log",
        environment={**os.environ, "PYTHONPATH": str(ROOT)},
        probe=ready.exists,
    )
    process.start()
    try:
        yield Contender("one patch", LABEL, TWENTY, process.freeze, process.thaw, (PROGRAM,), suspended=True)
    finally:
        process.stop()


async def resume_all(kubeconfig: str, ready: Path) -> None:
    """Watch and patch indefinitely."""
    async with connected(ConnectionSettings(kubeconfig=kubeconfig)) as connection, asyncio.TaskGroup() as tasks:
        client = Client(connection)

        def see(changes: Sequence[Change[Job]]) -> None:
            for change in changes:
                if isinstance(change, Changed) and change.before is None and change.after is not None:
                    tasks.create_task(resume(client, change.after))

        watch = Watch(client, JOBS, read_job, see)
        tasks.create_task(watch.run())
        await watch.synced.wait()
        await asyncio.to_thread(ready.touch)


async def resume(client: Client, job: Job) -> None:
    """One write."""
    operations = [{"op": "replace", "path": "/spec/suspend", "value": False}]
    await client.patch_json(JOBS, job.metadata.name, operations, job.metadata.namespace)


if __name__ == "__main__":
    asyncio.run(resume_all(sys.argv[1], Path(sys.argv[2])))
