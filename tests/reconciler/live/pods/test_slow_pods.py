"""Owners cannot multiply a Job by deleting pods that end slowly; lost pods are replaced all the same."""

import time
from typing import Any

import pytest

from tests.reconciler.reconciler_process import Quotree, job_manifest, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def not_ended(q: Quotree) -> list[dict[str, Any]]:
    return [each for each in q.get(PODS)["items"] if each["status"]["phase"] in ("Pending", "Running")]


def placed(q: Quotree, job: str) -> dict[str, str]:
    return q.pods_on_nodes(job)


def cpus(q: Quotree) -> int:
    """What the pods that have not ended request."""
    requests = [each["spec"]["containers"][0]["resources"]["requests"]["cpu"] for each in not_ended(q)]
    return sum(int(each) for each in requests)


def fill(q: Quotree) -> None:
    """Let a Job fill a group of max 4 with a pod that ends slowly."""
    q.group("vision", quotas=[quota(min="4", max="4")])
    q.job("hydra", "vision", "4", annotations={"demo.quotree.dev/stop-takes": "1h"})
    wait_for(lambda: len(placed(q, "hydra")) == 1, "it runs", LONG)


def attack(q: Quotree) -> None:
    """Delete its pod. The Job controller waits for 10 s, and after the next deletion for 20, before it replaces one."""
    for name in q.pods_of("hydra"):
        q.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 60})


def most_cpus(q: Quotree, seconds: float) -> int:
    """What its pods request at a time, at most."""
    most, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        most = max(most, cpus(q))
        time.sleep(0.5)
    return most


def test_owner_who_deletes_slow_pods_gets_no_more_than_the_ceiling(q: Quotree) -> None:
    q.lead()
    fill(q)
    for seconds in (15, 25):
        attack(q)
        assert most_cpus(q, seconds) == 4
    assert q.running() == {"hydra"}
    q.end_pods()
    wait_for(lambda: len(q.pods_of("hydra")) == 1, "pods that have ended are replaced", LONG)


def test_without_the_policy_the_same_attack_multiplies_the_job(q: Quotree) -> None:
    q.module = "tests.reconciler.replaced_at_once"
    q.lead()
    fill(q)
    for most in (8, 12):
        attack(q)
        wait_for(lambda most=most: cpus(q) == most, "its pod is replaced before it has ended", LONG)  # type: ignore[misc]
    assert q.running() == {"hydra"}


def test_counting_what_ends_instead_evicts_the_job(q: Quotree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNT_TERMINATING", "1")
    q.module = "tests.reconciler.replaced_at_once"
    q.lead()
    fill(q)
    attack(q)
    wait_for(lambda: q.running() == set(), "its pod and what replaces it are too much", LONG)


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
