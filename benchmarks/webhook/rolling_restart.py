"""Whether a rolling restart of both webhook replicas is noticed by clients that create Jobs at full pace.

    python -m benchmarks.webhook.rolling_restart [--rate 200] [--connections 32] [--rounds 3]

A real API server, two webhook processes behind a TCP balancer that learns of their readiness late, as a Service does,
and a client, all on this machine. In each round both replicas get SIGTERM one after the other and are started again.
Ends with code 1 when a single Job was refused, created unheld, or lost.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.results.figures import Figure, record
from dev.controlplane import cluster
from dev.controlplane.programs import binaries
from tests.webhook.rolling.balancer import Balancer
from tests.webhook.rolling.job_stream import Traffic
from tests.webhook.rolling.restart import restart_both, two_replicas
from tests.webhook.webhook_process import AdmissionSetup

NODE = cluster.NodeSpec("node-0", labels={}, allocatable={"cpu": "1000", "memory": "1Ti", "pods": "1000"})


def restart(setup: AdmissionSetup, balancer: Balancer, traffic: Traffic) -> bool:
    """Restart both replicas once, and return whether no client noticed."""
    with traffic.flowing():
        restart_both(setup, balancer, traffic)
    lost = traffic.lost()
    record(
        Figure(f"rolling_restart.{traffic.prefix}.created", len(traffic.created), "Jobs"),
        Figure(f"rolling_restart.{traffic.prefix}.refused", len(traffic.refused), "Jobs", at_most=0.0),
        Figure(f"rolling_restart.{traffic.prefix}.lost", len(lost), "Jobs", at_most=0.0),
        Figure(f"rolling_restart.{traffic.prefix}.slowest", traffic.slowest, "s"),
    )
    print(
        f"{traffic.prefix}: {len(traffic.created)} Jobs created, {traffic.achieved:.0f} a second of {traffic.rate:.0f} "
        f"wished, slowest {traffic.slowest:.2f} s; {len(traffic.refused)} refused, {len(lost)} lost; "
        f"{balancer.missed} connections to a replica that had ended",
        *traffic.refused[:3],
        sep="\n  ",
    )
    return not traffic.refused and not lost


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found = binaries.ensure(progress=print)
    with tempfile.TemporaryDirectory() as folder, cluster.start(found, nodes=[NODE], controllers=()) as control_plane:
        setup = AdmissionSetup(control_plane, Path(folder))
        setup.install()
        try:
            with two_replicas(setup) as balancer:
                rounds = [
                    restart(setup, balancer, Traffic(control_plane, f"round-{turn}", options.rate, options.connections))
                    for turn in range(1, options.rounds + 1)
                ]
        except AssertionError:
            print(setup.say())
            raise
        finally:
            setup.close()
    return 0 if all(rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
