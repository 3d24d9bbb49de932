"""Two replicas restarted one after the other while Jobs are created, as a rolling update does on a small node."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.webhook.balancer import Balancer
from tests.webhook.job_stream import Traffic
from tests.webhook.webhook_process import Door, wait_for

DRAIN = {"drain": "5s"}
"""As in the product: a balancer that learns of it later sends to a replica that has ended."""


@contextmanager
def two_replicas(door: Door) -> Iterator[Balancer]:
    """Two replicas behind one address, and one group, `any`, that takes everything."""
    door.flavor("default")
    door.group("any", quotas=[{"min": {"cpu": 1000}}])
    balancer = Balancer(door.ports.take())
    balancer.start()
    try:
        door.configure(f"https://127.0.0.1:{balancer.port}")
        balancer.replicas = [door.start(**DRAIN), door.start(**DRAIN)]
        for replica in balancer.replicas:
            wait_for(replica.is_ready, "both replicas are ready")
        door.wait_trusted()
        balancer.missed = 0
        yield balancer
    finally:
        balancer.stop()


def restart_both(door: Door, balancer: Balancer, traffic: Traffic) -> None:
    """SIGTERM to each in turn, and another in its place once it has ended; the other one serves alone meanwhile."""
    for old in list(balancer.replicas):
        assert old.stop() == 0
        new = door.start(**DRAIN)
        balancer.replicas = [each if each is not old else new for each in balancer.replicas]
        wait_for(new.is_ready, "the new replica is ready")
        traffic.wait_for_more(int(traffic.rate))
