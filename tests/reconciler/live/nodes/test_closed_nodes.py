"""A cordon, and a node that is not ready for a moment, stop nothing; nothing new starts in their place."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.reconciler.conftest import CPUS
from tests.reconciler.reconciler_process import Quotree, eviction_of, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
NODE = "/api/v1/nodes/node-0"


def stopped(q: Quotree) -> set[str]:
    return {name for name, job in q.jobs().items() if eviction_of(job) is not None}


def runtime(q: Quotree) -> list[str]:
    return [each["runtime"]["cpu"] for each in q.group_status("root").get("quotas", [])]


@contextmanager
def restored(q: Quotree) -> Iterator[None]:
    """Leave the node to the next test as it was."""
    try:
        yield
    finally:
        q.merge(NODE, {"metadata": {"annotations": {"demo.quotree.dev/not-ready": None}}})
        q.merge(NODE, {"spec": {"unschedulable": None}})


def test_cordoned_or_unready_node_keeps_running_workloads_and_admits_no_new_ones(q: Quotree) -> None:
    q.lead(capacity={"nodeGracePeriod": "30s"})
    q.group("vision", quotas=[quota(min="4")])
    names = {f"vision-{number}" for number in range(4)}
    for name in names:
        q.job(name, "vision")
    wait_for(lambda: sum(len(q.pods_on_nodes(name)) for name in names) == 4, "all four run", LONG)
    wait_for(lambda: runtime(q) == [str(CPUS)], "the whole node is given out", LONG)
    with restored(q):
        q.merge(NODE, {"spec": {"unschedulable": True}})
        wait_for(lambda: runtime(q) == ["4"], "the cordoned node counts what runs on it", LONG)
        q.job("next", "vision")
        wait_for(lambda: q.events("next"), "the next one waits", LONG)
        q.group("nlp", quotas=[quota(min="2")])
        q.job("owed", "nlp")
        wait_for(lambda: q.events("owed"), "one that is entitled waits: an eviction would free nothing", LONG)
        assert (q.running(), stopped(q)) == (names, set())
        q.merge(NODE, {"spec": {"unschedulable": None}})
        new = {"next", "owed"}
        wait_for(lambda: runtime(q) == [str(CPUS)] and new <= q.running(), "it is open again", LONG)
        wait_for(lambda: all(q.pods_on_nodes(name) for name in new), "they run", LONG)
        q.merge(NODE, {"metadata": {"annotations": {"demo.quotree.dev/not-ready": "true"}}})
        wait_for(lambda: runtime(q) == ["6"], "a node that is not ready counts what runs on it", LONG)
        assert (q.running(), stopped(q)) == ({*names, *new}, set())
        wait_for(lambda: runtime(q) != ["6"], "after the grace period it is lost", LONG)
