"""A start that a previous leader has sent and that is still on its way: it does not arrive in its successor's time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.kinds import Asked, Delay, Refuse, Rule
from tests.faults.proxy import FaultProxy
from tests.reconciler.job_history import recording
from tests.reconciler.reconciler_process import Quotree, quota, wait_for

pytestmark = pytest.mark.timeout(300)
LONG = 120.0
SLOW = 14.0
"""Seconds that the previous leader's start is on its way: longer than its Lease lasts."""


@pytest.fixture
def proxy(q: Quotree, tmp_path: Path) -> Iterator[FaultProxy]:
    """Between the reconcilers and the API server; the first one's starts are slow."""
    q.lease_seconds = 9
    with FaultProxy(q.control_plane.url, q.control_plane.ca_file).running() as running:
        q.kubeconfig = running.side("first").kubeconfig(q.control_plane.kubeconfig, tmp_path / "first.yaml")
        yield running


def patches_jobs(asked: Asked) -> bool:
    return asked.method == "PATCH" and "/jobs/" in asked.path and asked.client == "first"


def renews(asked: Asked) -> bool:
    return asked.is_write and "/leases/" in asked.path and asked.client == "first"


def test_start_delayed_past_the_lease_is_not_applied(q: Quotree, proxy: FaultProxy) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="4")])
    q.group("vision", quotas=[quota(min="0")])
    q.group("nlp", quotas=[quota(min="4")])
    slow = Rule(Delay(SLOW, SLOW), patches_jobs)
    proxy.rules.append(slow)
    with recording(q.control_plane) as history:
        q.job("late", "vision", "4", run_for="1s")
        wait_for(lambda: slow.committed, "its start is on its way", LONG)
        first = q.process
        assert first is not None
        proxy.rules.append(Rule(Refuse(503), renews))
        q.job("other", "nlp", "4")
        q.kubeconfig = proxy.side("second").kubeconfig(q.control_plane.kubeconfig, q.folder / "second.yaml")
        q.start()
        try:
            wait_for(lambda: "other" in q.running(), "the next leader starts what it finds first", LONG)
            wait_for(lambda: proxy.dropped["first"], "the slow start has nobody any more who waits for it", LONG)
            wait_for(lambda: first.poll() is not None, "the previous leader has ended", LONG)
        finally:
            first.kill()
            first.wait(60)
        wait_for(lambda: history.starts().get("other"), "the recorder has seen the other start", LONG)
        assert history.starts() == {"late": 0, "other": 1}
        assert history.most_used() == 4000
        assert list(history.wrongs()) == []
