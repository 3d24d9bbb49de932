"""`kubectl describe job` shows why a Job that has waited for a while does so, and no longer when it runs."""

import pytest

from shared.api.names import WAITING
from tests.reconciler.reconciler_process import Quotree, note_of, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0


def test_job_that_waits_bears_the_reason_until_it_starts(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1", max="1")])
    q.job("runs", "vision", "1")
    wait_for(lambda: q.running() == {"runs"}, "one runs", LONG)
    q.job("waits", "vision", "1")
    found = wait_for(lambda: note_of(q.get_job("waits"), WAITING) or {}, "the reason is written", LONG)
    assert (found["reason"], found["binding"], found["resource"]) == ("WaitingForQuota", "vision", "cpu")
    assert "group 'vision' lacks 1 of default/cpu" in found["message"]

    def counted() -> bool:
        return bool(q.group_status("vision")["workloads"].get("waiting") == {"WaitingForQuota": 1})

    wait_for(counted, "the status of the group counts it", LONG)
    q.group("vision", quotas=[quota(min="1", max="2")])
    wait_for(lambda: q.running() == {"runs", "waits"}, "both run", LONG)
    assert note_of(q.get_job("waits"), WAITING) is None
