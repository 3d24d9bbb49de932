"""Writes that come late: a previous leader's start on its way, and an eviction that the API server puts off."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.api.names import HOLD_LABEL
from tests.faults.kinds import Asked, Delay, Refuse, Rule
from tests.faults.proxy import FaultProxy
from tests.reconciler.job_history import recording
from tests.reconciler.reconciler_process import Quotree, eviction_of, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
SLOW = 25.0
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


def test_eviction_put_off_until_its_preemptor_is_deleted_is_not_applied(q: Quotree, proxy: FaultProxy) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="2")])
    for name in ("vision", "nlp"):
        q.group(name, quotas=[quota(min="1")])
    names = {"vision-0", "vision-1"}
    for name in names:
        q.job(name, "vision")
    wait_for(lambda: all(q.pods_on_nodes(name) for name in names), "vision borrows", LONG)
    throttled = Rule(Refuse(429, retry_after=1), patches_jobs)
    proxy.rules.append(throttled)
    q.job("preemptor", "nlp")
    wait_for(lambda: throttled.committed, "the eviction is put off", LONG)
    q.delete("/apis/batch/v1/namespaces/default/jobs/preemptor")
    wait_for(lambda: "put it off for too long" in q.log.read_text(), "it is given up", LONG)
    wait_for(lambda: q.workload_counts("nlp").get("pending") == 0, "the preemptor is seen to be gone", LONG)
    wait_for(lambda: q.metric("quotree_assumptions") == 0, "nothing is on its way", LONG)
    proxy.rules.remove(throttled)
    q.job("next", "nlp", labels={HOLD_LABEL: "true"})
    wait_for(lambda: q.workload_counts("nlp").get("pending") == 1, "a later cycle has run", LONG)
    assert {name: eviction_of(q.get_job(name)) for name in names} == dict.fromkeys(names)
