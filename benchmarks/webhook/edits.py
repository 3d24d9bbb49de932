"""What it costs to serialise edits of quota objects: one edit, and a burst of 40 of which 10 may be.

    python -m benchmarks.webhook.edits [--replicas 1 2 3] [--groups 20 2000]

A real API server and etcd, and webhook processes behind a balancer, all on this machine. "one edit" is a creation, one
after another, with the webhook and without; "burst" is 40 creations of min 1 at once under a parent with room for 10:
how long until the last is answered, and until half of them are. Times are the client's, in milliseconds.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from benchmarks.results.figures import Figure, record
from dev.controlplane.cluster import ControlPlane, start
from dev.controlplane.programs.binaries import ensure
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.errors import ApiError
from shared.kube.resources import QUOTA_GROUPS
from tests.webhook.edit_requests import CREATIONS, ROOM, quota_group
from tests.webhook.rolling.balancer import PortBalancer
from tests.webhook.rolling.replicas import Replicas

EDITS = 40
BURSTS = 5


async def timed(work: Awaitable[Any]) -> tuple[float, int]:
    """Milliseconds, and the HTTP code; 0 for success."""
    began = time.perf_counter()
    code = 0
    try:
        await work
    except ApiError as error:
        code = error.status or -1
    return (time.perf_counter() - began) * 1000, code


async def one_edit(client: Client, prefix: str) -> str:
    """Median and worst of 40 creations one after another."""
    took = [(await timed(client.create(QUOTA_GROUPS, quota_group(f"{prefix}-{at}"))))[0] for at in range(EDITS)]
    record(Figure(f"edits.{prefix}", statistics.median(took), "ms"))
    return f"median {statistics.median(took):6.1f}  max {max(took):6.1f}"


async def burst(client: Client, prefix: str) -> str:
    """Edit in some bursts, and return the median as text."""
    halves, wholes, codes = [], [], Counter[int]()
    for turn in range(BURSTS):
        parent = f"{prefix}-{turn}"
        await client.create(QUOTA_GROUPS, quota_group(parent, gpu=ROOM, isParent=True))
        creations = (client.create(QUOTA_GROUPS, quota_group(f"{parent}-{at}", parent, 1)) for at in range(CREATIONS))
        answers = await asyncio.gather(*(timed(each) for each in creations))
        took = sorted(each for each, _ in answers)
        halves.append(took[len(took) // 2])
        wholes.append(took[-1])
        codes.update(code for _, code in answers)
    record(Figure(f"edits.{prefix}.all", statistics.median(wholes), "ms"))
    summary = ", ".join(f"{count} of {code or 'accepted'}" for code, count in sorted(codes.items()))
    return f"half {statistics.median(halves):7.1f}  all {statistics.median(wholes):7.1f}  ({summary})"


async def measure(control_plane: ControlPlane, replicas: Replicas, wanted: list[int], groups: list[int]) -> None:
    """Print one line for each number of groups and replicas."""
    async with connected(ConnectionSettings(kubeconfig=str(control_plane.kubeconfig))) as connection:
        client = Client(connection)
        existing = 0
        for many in sorted(groups):
            await asyncio.to_thread(replicas.remove)
            await asyncio.sleep(1)
            for first in range(existing, many, 50):
                rest = range(first, min(many, first + 50))
                await asyncio.gather(*(client.create(QUOTA_GROUPS, quota_group(f"g{at}")) for at in rest))
            existing = many
            print(f"{many:5} groups, no webhook : one edit {await one_edit(client, f'none-{many}')}")
            for count in wanted:
                await asyncio.to_thread(replicas.use, *range(count))
                single = await one_edit(client, f"one-{many}-{count}")
                print(f"{many:5} groups, {count} replica(s): one edit {single}")
                print(f"{many:5} groups, {count} replica(s): burst    {await burst(client, f'burst-{many}-{count}')}")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--groups", type=int, nargs="+", default=[20, 2000])
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        start(ensure(progress=print), controllers=(), scheduler=False, kwok=False) as control_plane,
        PortBalancer().running() as balancer,
    ):
        replicas = Replicas(control_plane, Path(folder), balancer)
        try:
            replicas.install()
            replicas.start(max(options.replicas))
            asyncio.run(measure(control_plane, replicas, options.replicas, options.groups))
        finally:
            replicas.stop()


if __name__ == "__main__":
    main()
