"""A Job whose start the Job controller has not answered yet is not evicted: its pods could not be waited for."""

import time

import pytest

from tests.reconciler.history import recording
from tests.reconciler.running import Quotree, finished, quota, wait_for

pytestmark = pytest.mark.timeout(300)
LONG = 60.0


def test_a_start_is_answered_before_it_is_taken_back(q: Quotree) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="4")])
    q.group("vision", quotas=[quota(min="2")])
    q.group("nlp", quotas=[quota(min="2")])
    controllers = q.cp.processes["kube-controller-manager"]
    with recording(q.cp) as history:
        controllers.freeze()
        try:
            q.job("borrower", "vision", "4", run_for="1s")
            wait_for(lambda: q.running() == {"borrower"}, "vision borrows", LONG)
            q.job("lender", "nlp", "2", run_for="1s")
            time.sleep(2)
            assert q.running() == {"borrower"}
        finally:
            controllers.thaw()
        wait_for(lambda: all(finished(job) for job in q.jobs().values()), "both have finished", LONG)
        assert list(history.wrongs()) == []
        assert history.most_used() == 4000
