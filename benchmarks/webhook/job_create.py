"""What Quotree adds to the creation of a Job: the same creations, managed and not, one after another and 16 at once.

    python -m benchmarks.webhook.job_create [--jobs 400]

A real API server with the chart installed and one webhook process on this machine. Creations are dry runs, so that the
Job controller and the reconciler have nothing to do; "without" are the same Jobs without the group label, which no
webhook of Quotree is asked about. Times are the client's, in milliseconds.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable

from benchmarks.jobs import job
from benchmarks.results.figures import Figure, record
from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from dev.controlplane.quotree import installed
from shared.api.names import API_VERSION, GROUP_LABEL
from shared.kube.client import Client, DryRun
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.resources import JOBS, QUOTA_GROUPS


async def timed(call: Awaitable[object]) -> float:
    """Milliseconds until the call is answered."""
    began = time.perf_counter()
    await call
    return (time.perf_counter() - began) * 1000


async def measure(client: Client, jobs: int, at_once: int, *, managed: bool) -> list[float]:
    """Return the latency of each creation, `at_once` of them under way at a time."""
    numbers, labels = iter(range(jobs)), {GROUP_LABEL: "team"} if managed else {}

    async def create_some() -> list[float]:
        found = []
        for number in numbers:
            body = job(f"job-{number}", labels, {"cpu": "1", "memory": "1Gi"})
            found.append(await timed(client.create(JOBS, body, "default", dry_run=DryRun.ALL)))
        return found

    return [each for some in await asyncio.gather(*(create_some() for _ in range(at_once))) for each in some]


async def compare(kubeconfig: str, jobs: int) -> None:
    """Print both, in turn so that a machine that slows down slows both."""
    async with connected(ConnectionSettings(kubeconfig=kubeconfig)) as connection:
        client = Client(connection)
        spec = {"quotas": [{"min": {"cpu": "10", "memory": "10Gi"}}]}
        await client.create(
            QUOTA_GROUPS, {"apiVersion": API_VERSION, "kind": "QuotaGroup", "metadata": {"name": "team"}, "spec": spec}
        )
        for at_once in (1, 16):
            await measure(client, 50, at_once, managed=True)
            for managed in (False, True):
                found = sorted(await measure(client, jobs, at_once, managed=managed))
                label = "with Quotree   " if managed else "without        "
                place = f"job_create.{at_once}.{'with' if managed else 'without'}"
                record(Figure(f"{place}.p50", statistics.median(found), "ms"))
                p99 = found[int(len(found) * 0.99)]
                print(f"{label} {at_once:3} at once: p50 {statistics.median(found):6.2f} ms  p99 {p99:6.2f} ms")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=400)
    jobs = parser.parse_args().jobs
    with cluster.start(binaries.ensure(progress=print)) as control_plane, installed(control_plane, reconcilers=0):
        asyncio.run(compare(str(control_plane.kubeconfig), jobs))


if __name__ == "__main__":
    main()
