"""What one tenant's large Jobs cost the others.

    python -m benchmarks.objects.large_objects [--jobs 149] [--kilobytes 1300]

A real control plane and one reconciler with its default Lease, no webhook (which would refuse such Jobs). One tenant
creates large Jobs as fast as the API server takes them; once a second another tenant creates a small one, and it is
measured when that was let go. Ends with code 1 when a small Job waited for longer than `--bar` seconds, memory rose
above the chart's limit, or the Lease changed hands.
"""

import argparse
import re
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec
import yaml

from benchmarks.results.figures import Figure, record
from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from tests.reconciler.reconciler_process import NAMESPACE, Quotree, job_manifest, quota, wait_for
from tests.reconciler.tenants import JOBS, Tenant

NODE: Final = cluster.NodeSpec("node-0", allocatable={"cpu": "1000", "memory": "1Ti", "pods": "1000"})
LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/quotree-reconciler"
VALUES: Final = Path(__file__).parents[2] / "charts" / "quotree" / "values.yaml"
TERM_BYTES: Final = 290
LONG: Final = 120.0


def large_job(name: str, kilobytes: int) -> dict[str, Any]:
    """Return a Job of about that size, by its node affinity."""
    values = [f"{name}-{number:010d}" for number in range(12)]
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": values}]}
    terms = [term] * (kilobytes * 1000 // TERM_BYTES)
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    return job_manifest(name, "vision", "1", pod={"affinity": affinity})


def greedy_job(name: str, resources: int) -> dict[str, Any]:
    """Return a Job that names so many resources, each by a name that no other Job has."""
    named = {f"{name}.example.com/resource-{number:05d}": "0" for number in range(resources)}
    found = job_manifest(name, "vision", "1")
    found["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": named, "limits": named}
    return found


def flood(tenant: Tenant, jobs: int, kilobytes: int, resources: int) -> None:
    """Create them all; with `resources`, Jobs that name so many."""
    for number in range(jobs):
        name = f"large-{number}"
        tenant.create(JOBS, greedy_job(name, resources) if resources else large_job(name, kilobytes))


def delays_of_others(q: Quotree, flooding: threading.Thread) -> tuple[list[float], list[float]]:
    """Return for each small Job how long its creation took, and how long it then waited for its start."""
    creations: list[float] = []
    delays: list[float] = []
    while flooding.is_alive() or len(delays) < 5:
        name = f"small-{len(delays)}"
        asked = time.monotonic()
        q.job(name, "nlp", "1")
        created = time.monotonic()
        wait_for(lambda name=name: not q.get_job(name)["spec"].get("suspend"), "it runs", LONG)  # type: ignore[misc]
        creations.append(created - asked)
        delays.append(time.monotonic() - created)
        time.sleep(max(0.0, asked + 1 - time.monotonic()))
    return creations, delays


def longest_probe(q: Quotree, flooding: threading.Thread, found: list[float]) -> None:
    """How long the process took to answer each liveness probe while the flood lasts, as its event loop was busy."""
    port = re.search(r"health_port=(\d+)", q.log.read_text())
    assert port is not None
    while flooding.is_alive():
        asked = time.monotonic()
        with urllib.request.urlopen(f"http://127.0.0.1:{port[1]}/livez", timeout=60):
            found.append(time.monotonic() - asked)
        time.sleep(0.05)


def peak_mib(q: Quotree) -> float:
    """Return the most memory that the process ever had."""
    assert q.process is not None
    lines = Path(f"/proc/{q.process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def memory_mib(q: Quotree) -> float:
    """Return the memory that the process has now."""
    assert q.process is not None
    lines = Path(f"/proc/{q.process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def stored_mib(q: Quotree, jobs: int) -> float:
    """Return the size of the large Jobs as JSON, from that of the last one."""
    return len(msgspec.json.encode(q.get_job(f"large-{jobs - 1}"))) * jobs / 2**20


def limit_mib() -> float:
    """Return the chart's limit."""
    text = yaml.safe_load(VALUES.read_text())["reconciler"]["resources"]["limits"]["memory"]
    return float(text.removesuffix("Gi")) * 1024


def measure(q: Quotree, jobs: int, kilobytes: int, bar: float, resources: int) -> bool:
    """Measure, print, and return whether every figure stayed within its limit."""
    tenant = Tenant.of(q)
    q.lead()
    q.group("vision", quotas=[quota(min="100")])
    q.group("nlp", quotas=[quota(min="500")])
    q.job("first", "nlp", "1")
    wait_for(lambda: "first" in q.running(), "it decides", LONG)
    before = peak_mib(q)
    flooding = threading.Thread(target=flood, args=(tenant, jobs, kilobytes, resources))
    flooding.start()
    probes: list[float] = []
    probing = threading.Thread(target=longest_probe, args=(q, flooding, probes))
    probing.start()
    creations, delays = delays_of_others(q, flooding)
    probing.join()
    q.job("last", "vision", "1")
    wait_for(lambda: "last" in q.running(), "all before the last one are known", LONG)
    assert not {name for name in q.running() if name.startswith("large-")}, "none of them fits"
    peak, turns = peak_mib(q), q.get(LEASE)["spec"]["leaseTransitions"]
    what = f"{kilobytes} kB" if not resources else f"{resources} resources"
    record(
        Figure("large_objects.creation", median(creations), "s"),
        Figure("large_objects.creation.longest", max(creations), "s"),
        Figure("large_objects.delay", median(delays), "s"),
        Figure("large_objects.delay.longest", max(delays), "s", at_most=bar),
        Figure("large_objects.probe.longest", max(probes), "s"),
        Figure("large_objects.memory", peak, "MiB", at_most=limit_mib()),
        Figure("large_objects.lease-lost", turns, "times", at_most=0.0),
    )
    print(
        f"{jobs} Jobs of {what}; {len(delays)} small ones: "
        f"created in {median(creations):.2f} s (median), {max(creations):.2f} s (longest), "
        f"let go after {median(delays):.2f} s, {max(delays):.2f} s; "
        f"the reconciler's probe was answered within {max(probes):.2f} s; "
        f"memory {before:.0f} MiB before, {peak:.0f} MiB at most; the Lease changed hands {turns} times",
        flush=True,
    )
    now = memory_mib(q)
    print(f"the large Jobs have {stored_mib(q, jobs):.0f} MiB as JSON; memory {now:.0f} MiB with them", flush=True)
    q.delete(JOBS)
    wait_for(lambda: not q.get(f"{JOBS}?limit=1")["items"], "all are gone", LONG)
    time.sleep(60)
    print(f"memory {memory_mib(q):.0f} MiB a minute after they are gone", flush=True)
    q.stop()
    return max(delays) <= bar and peak < limit_mib() and turns == 0


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=149)
    parser.add_argument("--kilobytes", type=int, default=1300)
    parser.add_argument("--resources", type=int, default=0, help="Jobs that name so many resources instead")
    parser.add_argument("--bar", type=float, default=1.0)
    options = parser.parse_args()
    found = binaries.ensure(progress=print)
    with tempfile.TemporaryDirectory() as folder, cluster.start(found, nodes=[NODE]) as control_plane:
        q = Quotree(control_plane, Path(folder), lease_seconds=15)
        q.install()
        try:
            return 0 if measure(q, options.jobs, options.kilobytes, options.bar, options.resources) else 1
        except AssertionError:
            print(q.say())
            raise
        finally:
            q.kill()


if __name__ == "__main__":
    raise SystemExit(main())
