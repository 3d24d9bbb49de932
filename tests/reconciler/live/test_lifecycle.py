"""Jobs held, started and finished; quota borrowed, taken back and given again; on a real control plane."""

import pytest

from tests.reconciler.reconciler_process import Quotree, admission_of, eviction_of, finished, quota, wait_for

API = "/apis/quotree.dev/v1alpha1"


def test_built_in_objects_are_created(q: Quotree) -> None:
    q.start()
    wait_for(lambda: q.condition("root", "Active").get("status") == "True", "root is active")
    paths = ("quotagroups/system", "quotagroups/default", "resourceflavors/default")
    wait_for(
        lambda: all(q.control_plane.rest.request("GET", f"{API}/{path}")[0] == 200 for path in paths), "all are there"
    )
    specs = [q.get(f"{API}/{path}")["spec"] for path in paths]
    assert [spec.get("parent") for spec in specs] == ["root", "root", None]
    assert specs[2] == {}
    assert q.stop() == 0


def test_a_held_job_starts_and_finishes(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="4")])
    q.known("vision")
    q.job("train", "vision", "2", run_for="1s")
    wait_for(lambda: not q.get_job("train")["spec"]["suspend"], "the Job is resumed")
    assert (admission_of(q.get_job("train")) or {})["flavors"] == {"cpu": "default"}
    wait_for(lambda: finished(q.get_job("train")), "the Job is finished")
    wait_for(lambda: q.group_status("vision").get("workloads", {}).get("admitted") == 0, "its quota is free again")
    wait_for(lambda: q.events("train"), "its event")
    assert q.events("train") == [("Started", "group vision admits it, entitled: cpu from default")]


def test_status_follows_an_edit_that_says_the_same_in_other_words(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="4")])
    q.known("vision")
    q.group("vision", quotas=[quota(min="4000m")], flavorFungibility={})
    q.known("vision")


@pytest.mark.timeout(900)
def test_idle_quota_is_borrowed_and_reclaimed(q: Quotree) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="8")])
    q.group("vision", quotas=[quota(min="4")])
    q.group("nlp", quotas=[quota(min="4")])
    for number in range(4):
        q.job(f"borrower-{number}", "vision", "2")
    wait_for(lambda: len(q.running()) == 4, "vision uses what nlp leaves idle")
    wait_for(lambda: q.condition("vision", "OverRuntime").get("status") == "False", "nobody wants it back yet")
    q.job("lender", "nlp", "4")
    wait_for(lambda: "lender" in q.running(), "nlp has its quota back")
    stopped = {name: eviction_of(job) for name, job in q.jobs().items() if job["spec"]["suspend"]}
    assert len(stopped) == 2
    for note in stopped.values():
        assert note is not None
        assert (note["reason"], note["rule"]) == ("Reclaimed", "Reclaim")
        assert note["for"]["workload"] == "default/lender"
    assert all(admission_of(q.get_job(name)) is None for name in stopped)
    q.delete("/apis/batch/v1/namespaces/default/jobs/lender")
    wait_for(lambda: len(q.running()) == 4, "the recycled Jobs are started again")
