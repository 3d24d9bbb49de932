"""Two replicas restarted one after the other while Jobs are created, as a rolling update does on a small node."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.webhook.rolling.balancer import Balancer
from tests.webhook.rolling.job_stream import Traffic
from tests.webhook.webhook_process import AdmissionSetup, wait_for

DRAIN = {"drain": "5s"}
"""A balancer that has not learned of it by then sends to a replica that has ended."""
LATE = 1.0
"""Seconds until a Service stops using a stopping replica, which stays ready until it ends."""


@contextmanager
def two_replicas(admission: AdmissionSetup) -> Iterator[Balancer]:
    """Two replicas behind one address, and one group, `any`, that takes everything."""
    admission.flavor("default")
    admission.group("any", quotas=[{"min": {"cpu": 1000}}])
    balancer = Balancer(admission.ports.take())
    balancer.start()
    try:
        admission.configure(f"https://127.0.0.1:{balancer.port}")
        balancer.replicas = [admission.start(**DRAIN), admission.start(**DRAIN)]
        for replica in balancer.replicas:
            wait_for(replica.is_ready, "both replicas are ready")
        admission.wait_trusted()
        balancer.missed = 0
        yield balancer
    finally:
        balancer.stop()


def restart_both(admission: AdmissionSetup, balancer: Balancer, traffic: Traffic) -> None:
    """SIGTERM to each in turn, and another in its place once it has ended; the other one serves alone meanwhile."""
    for old in list(balancer.replicas):
        old.process.terminate()
        time.sleep(LATE)
        balancer.replicas = [each for each in balancer.replicas if each is not old]
        assert old.process.wait(120) == 0
        new = admission.start(**DRAIN)
        balancer.replicas = [*balancer.replicas, new]
        wait_for(new.is_ready, "the new replica is ready")
        traffic.wait_for_more(int(traffic.rate))
