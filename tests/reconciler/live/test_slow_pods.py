"""Owners cannot multiply a Job by deleting pods that end slowly; lost pods are replaced all the same."""

import time
from typing import Any

import pytest

from tests.reconciler.reconciler_process import Quotree, job_manifest, quota, wait_for

pytestmark = pytest.mark.timeout(300)
LONG = 90.0
PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def not_ended(q: Quotree) -> list[dict[str, Any]]:
    return [each for each in q.get(PODS)["items"] if each["status"]["phase"] in ("Pending", "Running")]


def placed(q: Quotree, job: str) -> dict[str, str]:
    return q.pods_on_nodes(job)


def test_owner_who_deletes_slow_pods_gets_no_more_than_the_ceiling(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="4", max="4")])
    q.job("hydra", "vision", "1", pods=4, annotations={"demo.quotree.dev/stop-takes": "1h"})
    wait_for(lambda: len(placed(q, "hydra")) == 4, "it runs", LONG)
    most = 0
    for _ in range(3):
        for name in q.pods_of("hydra"):
            q.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 60})
        until = time.monotonic() + 5
        while time.monotonic() < until:
            most = max(most, len(not_ended(q)))
            time.sleep(0.2)
    assert most == 4
    assert q.running() == {"hydra"}
    q.end_pods()
    wait_for(lambda: len(q.pods_of("hydra")) == 4, "pods that have ended are replaced", LONG)


def test_pods_that_are_lost_are_replaced_and_the_owner_gets_the_policy_back(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="4", max="4")])
    q.job("lost", "vision", "2", pods=2, annotations={"demo.quotree.dev/stop-takes": "1h"})
    wait_for(lambda: len(placed(q, "lost")) == 2, "it runs", LONG)
    assert q.get_job("lost")["spec"]["podReplacementPolicy"] == "Failed"
    name = min(q.pods_of("lost"))
    q.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 1})
    wait_for(lambda: len(q.pods_of("lost")) == 2, "what does not end is replaced", LONG + 60)
    wait_for(lambda: q.get_job("lost")["spec"]["podReplacementPolicy"] == "Failed", "others end first", LONG)
    assert q.running() == {"lost"}
    q.group("vision", quotas=[quota(min="0", max="0")])
    wait_for(lambda: q.running() == set(), "it is evicted", LONG)
    assert q.get_job("lost")["spec"]["podReplacementPolicy"] == "TerminatingOrFailed"
    assert "quotree.dev/pod-replacement" not in q.get_job("lost")["metadata"]["annotations"]


def test_job_that_ran_before_gets_the_policy_and_one_that_chose_it_keeps_it(q: Quotree) -> None:
    q.create(JOBS, job_manifest("old", "vision", "1", suspend=False))
    own = job_manifest("own", "vision", "1")
    own["spec"]["podReplacementPolicy"] = "Failed"
    q.create(JOBS, own)
    q.group("vision", quotas=[quota(min="4", max="4")])
    q.lead()
    wait_for(lambda: q.get_job("old")["spec"]["podReplacementPolicy"] == "Failed", "it is adopted", LONG)
    assert q.get_job("old")["metadata"]["annotations"]["quotree.dev/pod-replacement"] == "TerminatingOrFailed"
    wait_for(lambda: "own" in q.running(), "it is started", LONG)
    assert "quotree.dev/pod-replacement" not in q.get_job("own")["metadata"]["annotations"]
    q.merge(f"{JOBS}/old", {"spec": {"podReplacementPolicy": "TerminatingOrFailed"}})
    wait_for(lambda: q.get_job("old")["spec"]["podReplacementPolicy"] == "Failed", "it is changed back", LONG)
