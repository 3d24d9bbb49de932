"""What floods of one tenant cost the others: `python -m benchmarks.objects.floods [jobs|patches|groups]`.

A real control plane and one reconciler with its default Lease. Another user creates Jobs of 1m, which all fit, or
patches the status of Jobs, or (only where it is named) creates QuotaGroups, for so many `--seconds` as fast as the API
server takes it from 8 clients. Each client patches a Job of its own: patches of one object collide in the API server,
which then tries each again and again. Once a second a tenant creates a small Job, and it is measured when that was let
go. Ends with code 1 when one waited for longer than `--bar` seconds, memory rose above the chart's limit, or the Lease
changed hands.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.objects.large_objects import LEASE, LONG, NODE, delays_of_others, limit_mib, memory_mib, peak_mib
from benchmarks.results.figures import Figure, record
from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from dev.controlplane.rest import Rest
from shared.api.names import API_VERSION
from tests.reconciler.reconciler_process import JSON, MERGE, Quotree, job_manifest, quota, wait_for
from tests.reconciler.tenants import JOBS

CLIENTS: Final = 8
PATCHED: Final = "patched"


def create_small(rest: Rest, number: int, _: int) -> None:
    """Create a Job that fits, and ends after a second."""
    body = job_manifest(f"tiny-{number}", "vision", "1m", run_for="1s")
    status, answer = rest.request("POST", JOBS, body=body, content_type=JSON)
    assert status == 201, answer


def patch_status(rest: Rest, number: int, client: int) -> None:
    """Say something else in the status of a Job, as its controller would."""
    body = {"status": {"terminating": number}}
    status, answer = rest.request("PATCH", f"{JOBS}/{PATCHED}-{client}/status", body=body, content_type=MERGE)
    assert status == 200, answer


def create_group(rest: Rest, number: int, _: int) -> None:
    """Create a group below root that is promised nothing."""
    body = {"apiVersion": API_VERSION, "kind": "QuotaGroup", "metadata": {"name": f"made-{number}"}}
    body |= {"spec": {"quotas": [quota(min="0")]}}
    status, answer = rest.request("POST", f"/apis/{API_VERSION}/quotagroups", body=body, content_type=JSON)
    assert status == 201, answer


FLOODS: Final[dict[str, Callable[[Rest, int, int], None]]] = {
    "jobs": create_small,
    "patches": patch_status,
    "groups": create_group,
}
USUAL: Final = ("jobs", "patches")
"""These run where none is named."""


def flood(q: Quotree, kind: str, until: float, made: list[int]) -> None:
    """Do it again and again from so many clients until that moment; `made` gets a number for each time."""
    numbers = count()

    def run(client: int) -> None:
        rest = q.control_plane.rest.another()
        while time.monotonic() < until:
            number = next(numbers)
            FLOODS[kind](rest, number, client)
            made.append(number)

    clients = [threading.Thread(target=run, args=(client,)) for client in range(CLIENTS)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()


def measure(q: Quotree, kind: str, seconds: float, bar: float) -> bool:
    """Measure, print, and return whether every figure stayed within its limit."""
    q.lead()
    q.group("vision", quotas=[quota(min="400")])
    q.group("nlp", quotas=[quota(min="500")])
    patched = {f"{PATCHED}-{client}" for client in range(CLIENTS)}
    for name in sorted(patched):
        q.job(name, "vision", "1")
    q.job("first", "nlp", "1")
    wait_for(lambda: {"first"} | patched <= q.running(), "it decides", LONG)
    before, made = memory_mib(q), list[int]()
    began = time.monotonic()
    flooding = threading.Thread(target=flood, args=(q, kind, began + seconds, made))
    flooding.start()
    _, delays = delays_of_others(q, flooding)
    passed, turns = time.monotonic() - began, q.get(LEASE)["spec"]["leaseTransitions"]
    record(
        Figure(f"floods.{kind}.rate", len(made) / passed, "/s"),
        Figure(f"floods.{kind}.delay", median(delays), "s"),
        Figure(f"floods.{kind}.delay.longest", max(delays), "s", at_most=bar),
        Figure(f"floods.{kind}.memory", peak_mib(q), "MiB", at_most=limit_mib()),
        Figure(f"floods.{kind}.lease-lost", turns, "times", at_most=0.0),
    )
    print(
        f"{len(made)} {kind} in {passed:.0f} s, {len(made) / passed:.0f} a second; {len(delays)} small Jobs: "
        f"let go after {median(delays):.2f} s (median), {max(delays):.2f} s (longest); "
        f"memory {before:.0f} MiB before, {peak_mib(q):.0f} MiB at most; the Lease changed hands {turns} times",
        flush=True,
    )
    return max(delays) <= bar and peak_mib(q) < limit_mib() and turns == 0


def main() -> int:
    """Run each on a control plane of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="?", choices=FLOODS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--bar", type=float, default=2.0)
    options = parser.parse_args()
    found, good = binaries.ensure(progress=print), True
    for kind in (options.kind,) if options.kind else USUAL:
        with tempfile.TemporaryDirectory() as folder, cluster.start(found, nodes=[NODE]) as control_plane:
            q = Quotree(control_plane, Path(folder), lease_seconds=15)
            q.install()
            try:
                good &= measure(q, kind, options.seconds, options.bar)
            finally:
                q.kill()
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
