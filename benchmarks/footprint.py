"""How much memory both processes hold, by the number of Jobs that wait.

    python -m benchmarks.footprint [--groups 100] [--jobs 0 1000 3000]

A real API server that holds so many groups in two levels and so many Jobs, all of them waiting; for each number, a
webhook and a reconciler are started and their resident sets read when both have seen everything.
"""

import argparse
import asyncio
import time
from datetime import timedelta
from typing import Final

from benchmarks.full_start import groups_of, resident, waiting_job, without_controllers
from benchmarks.jobs import create_all
from benchmarks.results.figures import Figure, record
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.host.processes import Process
from dev.controlplane.quotree import Quotree
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.resources import JOBS, MUTATING_WEBHOOKS, QUOTA_GROUPS, VALIDATING_WEBHOOKS

CLIENTS: Final = 16
SETTLE: Final = 10.0
"""Seconds until what was needed for the first look only has been given up."""


async def fill(control_plane: ControlPlane, groups: int, jobs: range, *, first: bool) -> None:
    """Create the groups at the first time, and the Jobs of these numbers, without asking the webhook."""
    async with connected(ConnectionSettings(kubeconfig=str(control_plane.kubeconfig))) as connection:
        client = Client(connection, timeout=timedelta(minutes=1))
        bodies = groups_of(groups)
        if first:
            for configurations in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
                await client.delete(configurations, "quotree")
            await create_all(client, QUOTA_GROUPS, bodies, None, CLIENTS)
        leaves = [each["metadata"]["name"] for each in bodies if "parent" in each["spec"]]
        waiting = (waiting_job(f"waits-{number}", leaves[number % len(leaves)]) for number in jobs)
        await create_all(client, JOBS, waiting, "default", CLIENTS)


def held(quotree: Quotree) -> tuple[int, int]:
    """MiB of a webhook and of a reconciler that have just been started and have seen everything."""
    processes: list[Process] = [quotree.add_webhook(), quotree.add_reconciler()]
    time.sleep(SETTLE)
    found = resident(processes[0]), resident(processes[1])
    for process in processes:
        process.stop()
    return found


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--jobs", type=int, nargs="+", default=[0, 1000, 3000])
    options = parser.parse_args()
    with without_controllers() as (control_plane, quotree):
        steps = sorted(options.jobs)
        for before, jobs in zip([0, *steps], steps, strict=False):
            asyncio.run(fill(control_plane, options.groups, range(before, jobs), first=jobs == steps[0]))
            webhook, reconciler = held(quotree)
            place = f"footprint.{options.groups}-groups.{jobs}-jobs"
            record(
                Figure(f"{place}.webhook", webhook, "MiB"),
                Figure(f"{place}.reconciler", reconciler, "MiB"),
            )
            print(
                f"{options.groups} groups, {jobs} Jobs: webhook {webhook} MiB, reconciler {reconciler} MiB", flush=True
            )


if __name__ == "__main__":
    main()
