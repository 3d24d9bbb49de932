"""Run-time limits on real Jobs and pods: stopped for good, told before, the same after a change of the leader."""

from datetime import datetime

import pytest

from shared.api.names import MAX_RUN_TIME, POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL, REQUEUE
from tests.reconciler.live.pods.test_pods import PODS, placed, pod, pods
from tests.reconciler.reconciler_process import (
    Quotree,
    admission_of,
    eviction_of,
    job_manifest,
    note_of,
    quota,
    wait_for,
)

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
JOBS = "/apis/batch/v1/namespaces/default/jobs"
GROUPS = "/apis/quotree.dev/v1alpha1/quotagroups"


def test_job_over_its_time_is_stopped_for_good_and_the_next_one_starts(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1", max="1")], maxRunTime="1s")
    q.job("long", "vision")
    wait_for(lambda: eviction_of(q.get_job("long")), "it is stopped", LONG)
    since = admission_of(q.get_job("long"))
    note, requeue = eviction_of(q.get_job("long")) or {}, note_of(q.get_job("long"), REQUEUE) or {}
    assert (since, note["reason"], note["rule"], requeue["deactivated"]) == (None, "OverTime", "RunTime", True)
    ran = datetime.fromisoformat(note["time"]) - datetime.fromisoformat(note["since"])
    assert ran.total_seconds() >= 1
    q.merge(f"{GROUPS}/vision", {"spec": {"maxRunTime": "1h"}})
    q.job("next", "vision")
    wait_for(lambda: q.running() == {"next"}, "its room is the next one's", LONG)
    text = "is stopped for good: group 'vision' lets it run for 1s; it is queued again when its owner resumes it"
    stopped = ("OverTime", f"Job 'default/long' {text}")
    wait_for(lambda: stopped in q.events("long"), "its owner is told", LONG)
    wait_for(lambda: "Deactivated" in dict(q.events("long")), "and that it waits for a person", LONG)


def test_pods_and_pod_groups_over_their_time_are_evicted(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="4")])
    members = {POD_GROUP_LABEL: "crew", POD_GROUP_SIZE_LABEL: "2"}
    for each in (pod("alone", "vision"), pod("a", "vision", labels=members), pod("b", "vision", labels=members)):
        each["metadata"]["annotations"] = {MAX_RUN_TIME: "1h" if each["metadata"]["name"] == "a" else "1s"}
        q.create(PODS, each)
    q.create(PODS, pod("free", "vision"))
    wait_for(lambda: set(pods(q)) == {"free"}, "all but the one without a limit are gone", LONG)
    wait_for(lambda: "free" in placed(q), "it runs", LONG)


def test_limit_that_was_lowered_while_nobody_led_holds_for_the_next_leader(q: Quotree) -> None:
    q.lead(reclaim={"notice": "2s"})
    q.group("vision", quotas=[quota(min="4")], maxRunTime="1h")
    q.create(JOBS, job_manifest("firm", "vision", labels={"quotree.dev/preemptible": "false"}))
    wait_for(lambda: q.running() == {"firm"}, "it runs", LONG)
    since = (admission_of(q.get_job("firm")) or {})["time"]
    q.kill()
    q.release()
    q.merge(f"{GROUPS}/vision", {"spec": {"maxRunTime": "1s"}})
    q.lead(reclaim={"notice": "2s"})
    wait_for(lambda: eviction_of(q.get_job("firm")), "the next leader stops it", LONG)
    note = eviction_of(q.get_job("firm")) or {}
    assert (note["reason"], datetime.fromisoformat(note["since"])) == ("OverTime", datetime.fromisoformat(since))
    wait_for(lambda: "EvictionNotice" in dict(q.events("firm")), "it was told before", LONG)


def test_annotation_that_cannot_be_read_counts_as_absent_and_is_reported(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="4")])
    body = job_manifest("odd", "vision")
    body["metadata"]["annotations"] = {MAX_RUN_TIME: "tomorrow"}
    q.create(JOBS, body)
    wait_for(lambda: q.running() == {"odd"}, "it runs", LONG)
    problem = (
        f"annotation {MAX_RUN_TIME} is 'tomorrow'; write a duration of at least 1s, such as 8h; it counts as absent"
    )
    wait_for(lambda: ("NotAsWritten", problem) in q.events("odd"), "its owner is told", LONG)
