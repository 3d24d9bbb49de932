"""A start that the Job controller has not noted yet: its pods may be in the making, so its quota is not given away."""

from collections.abc import Iterator

import pytest

from dev.controlplane.host.processes import Process
from tests.reconciler.job_history import recording
from tests.reconciler.reconciler_process import Quotree, finished, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
JOBS = "/apis/batch/v1/namespaces/default/jobs"


@pytest.fixture
def frozen(q: Quotree) -> Iterator[Process]:
    """The Job controller, until the test thaws it."""
    controllers = q.control_plane.processes["kube-controller-manager"]
    q.lead()
    q.group("root", quotas=[quota(max="4")])
    q.group("vision", quotas=[quota(min="2")])
    q.group("nlp", quotas=[quota(min="2")])
    controllers.freeze()
    try:
        yield controllers
    finally:
        controllers.thaw()


def considered(q: Quotree, group: str) -> None:
    """Wait until a cycle that knew of the group's one pending Job has shown what it left."""
    wait_for(lambda: q.group_status(group).get("workloads", {}).get("pending") == 1, f"{group} is seen to wait", LONG)


def test_start_is_acknowledged_before_it_can_be_revoked(q: Quotree, frozen: Process) -> None:
    with recording(q.control_plane) as history:
        q.job("borrower", "vision", "4")
        wait_for(lambda: q.running() == {"borrower"}, "vision borrows", LONG)
        q.job("lender", "nlp", "2", run_for="1s")
        considered(q, "nlp")
        assert q.running() == {"borrower"}
        frozen.thaw()
        wait_for(lambda: finished(q.get_job("lender")), "the lender has finished", LONG)
        wait_for(lambda: q.pods_on_nodes("borrower"), "the borrower runs again", LONG)
        wait_for(lambda: history.starts().get("borrower") == 2, "the recorder has seen it too", LONG)
        assert history.evictions() == {"borrower": 1, "lender": 0}
        assert list(history.wrongs()) == []
        assert history.most_used() == 4000


def test_start_revoked_by_its_owner_counts_until_the_job_controller_has_seen_it(q: Quotree, frozen: Process) -> None:
    q.job("mine", "vision", "4")
    wait_for(lambda: q.running() == {"mine"}, "it is started", LONG)
    q.merge(f"{JOBS}/mine", {"metadata": {"labels": {"quotree.dev/hold": "true"}}, "spec": {"suspend": True}})
    q.job("lender", "nlp", "2", run_for="1s")
    considered(q, "nlp")
    assert q.running() == set()
    wait_for(lambda: [each["used"] for each in q.group_status("vision")["quotas"]] == [{"cpu": "4"}], "in use", LONG)
    assert q.running() == set()
    frozen.thaw()
    wait_for(lambda: finished(q.get_job("lender")), "the quota is free again", LONG)
    assert q.running() == set()
