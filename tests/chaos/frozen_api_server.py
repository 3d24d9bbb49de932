"""`python -m tests.chaos.frozen_api_server [--times N] [--seconds S] [--bar S]`: how soon starts resume after a freeze.

The API server is frozen for so long, as on a machine that hangs, once two reconcilers are ready; they are started again
when they have ended. Then a Job is created every half second, each of which fits. Prints when the first of them was
created, and started; ends with 1 if a start was later than the bar.
"""

import argparse
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, Final

from dev.controlplane import cluster
from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs import binaries
from dev.controlplane.quotree import Quotree, installed
from dev.controlplane.rest import serves
from shared.api.names import API_VERSION, GROUP_LABEL
from tests.reconciler.reconciler_process import wait_for

JOBS: Final = "/apis/batch/v1/namespaces/default/jobs"
LONGEST: Final = 120.0
NODES: Final = (NodeSpec("node-0", allocatable={"cpu": "64", "memory": "64Gi", "pods": "500"}),)
GROUP: Final = {
    "apiVersion": API_VERSION,
    "kind": "QuotaGroup",
    "metadata": {"name": "team"},
    "spec": {"quotas": [{"min": {"cpu": "60"}}], "namespaceSelector": {}},
}


def resumption(quotree: Quotree, names: Iterator[int], seconds: float) -> tuple[float, float]:
    """Freeze the API server; return how long after the thaw a Job was created, and how long after it one started."""
    server = quotree.cluster.processes["kube-apiserver"]
    server.freeze()
    time.sleep(seconds)
    server.thaw()
    thawed, created = time.monotonic(), None
    while time.monotonic() < thawed + LONGEST:
        with suppress(OSError):
            if _create(quotree, f"job-{next(names)}") == 201:
                created = created or time.monotonic() - thawed
        ends = time.monotonic() + 0.5
        while created is not None and time.monotonic() < ends:
            with suppress(OSError):
                if _started(quotree):
                    return created, time.monotonic() - thawed
            time.sleep(0.05)
    raise AssertionError(f"nothing started within {LONGEST:.0f} s of the thaw")


def _create(quotree: Quotree, name: str) -> int:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    body = {"metadata": {"name": name, "labels": {GROUP_LABEL: "team"}}, "spec": {"template": template}}
    return quotree.cluster.rest.request("POST", JOBS, body)[0]


def _started(quotree: Quotree) -> list[str]:
    jobs: list[dict[str, Any]] = quotree.cluster.rest.request("GET", JOBS)[1].get("items", [])
    return [each["metadata"]["name"] for each in jobs if not each["spec"]["suspend"]]


def _clear(quotree: Quotree) -> None:
    """Delete every Job, and wait until none is left."""
    quotree.cluster.rest.request("DELETE", f"{JOBS}?propagationPolicy=Background")
    wait_for(lambda: not quotree.cluster.rest.request("GET", JOBS)[1].get("items", ["?"]), "no Job is left", LONGEST)


def _all_ready(quotree: Quotree) -> bool:
    """Return whether every reconciler leads or stands by with warm caches."""
    return all(each.running and serves(f"{quotree.health[each.name]}/readyz") for each in quotree.reconcilers)


@contextmanager
def _supervised(quotree: Quotree) -> Iterator[None]:
    """Start reconcilers again when they have ended, as Kubernetes would."""
    closing = threading.Event()

    def supervise() -> None:
        while not closing.wait(0.3):
            for process in quotree.reconcilers:
                if not process.running:
                    with suppress(ControlPlaneError):
                        process.launch()

    watchman = threading.Thread(target=supervise, daemon=True)
    watchman.start()
    try:
        yield
    finally:
        closing.set()
        watchman.join(60)


def main() -> int:
    """Freeze it as often as asked, and print each time."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.frozen_api_server", description=__doc__)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=25.0, help="how long it is frozen")
    parser.add_argument("--bar", type=float, default=10.0, help="the latest start, in seconds after the thaw")
    options = parser.parse_args()
    late = 0
    with (
        cluster.start(binaries.ensure(print), nodes=NODES) as control_plane,
        installed(control_plane, reconcilers=2) as quotree,
        _supervised(quotree),
    ):
        names = count()
        wait_for(lambda: control_plane.rest.request("POST", _GROUPS, GROUP)[0] in (201, 409), "a group", LONGEST)
        for number in range(options.times):
            wait_for(lambda: _create(quotree, f"job-{next(names)}") == 201 and _started(quotree), "a start", LONGEST)
            _clear(quotree)
            wait_for(lambda: _all_ready(quotree), "the stand-by is ready", LONGEST)
            created, started = resumption(quotree, names, options.seconds)
            late += started > options.bar
            print(f"{number + 1}: created {created:.1f} s after the thaw, started {started:.1f} s after it", flush=True)
            _clear(quotree)
    print(f"{late} of {options.times} later than {options.bar:g} s")
    return 1 if late else 0


_GROUPS: Final = f"/apis/{API_VERSION}/quotagroups"

if __name__ == "__main__":
    raise SystemExit(main())
