"""Priorities for the queue alone, on real Jobs: the label orders who starts and who goes, also when it changes."""

import pytest

from shared.api.names import PRIORITY_LABEL
from tests.reconciler.reconciler_process import Quotree, eviction_of, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
JOBS = "/apis/batch/v1/namespaces/default/jobs"
NAMED = [{"name": "urgent", "value": 100}, {"name": "batch", "value": -10}]


def label(q: Quotree, name: str, priority: str | None) -> None:
    q.merge(f"{JOBS}/{name}", {"metadata": {"labels": {PRIORITY_LABEL: priority}}})


def test_label_decides_who_starts_and_who_goes_also_after_a_change(q: Quotree) -> None:
    q.lead(workloadPriorities=NAMED)
    q.group("vision", quotas=[quota(min="1", max="1")])
    q.job("first", "vision", labels={PRIORITY_LABEL: "batch"})
    wait_for(lambda: q.running() == {"first"}, "it runs", LONG)
    q.job("plain", "vision")
    wait_for(lambda: q.running() == {"plain"}, "what names none is before it", LONG)
    assert (eviction_of(q.get_job("first")) or {})["reason"] == "Preempted"
    label(q, "first", "urgent")
    wait_for(lambda: q.running() == {"first"}, "the new priority counts while it waits", LONG)
    q.job("later", "vision", labels={PRIORITY_LABEL: "batch"})
    label(q, "first", None)
    label(q, "later", "urgent")
    wait_for(lambda: q.running() == {"later"}, "and while it runs", LONG)


def test_priority_that_the_settings_do_not_have_is_reported_and_counts_as_absent(q: Quotree) -> None:
    q.lead(workloadPriorities=NAMED)
    q.group("vision", quotas=[quota(min="1", max="1")])
    q.job("odd", "vision", labels={PRIORITY_LABEL: "urgnt"})
    wait_for(lambda: q.running() == {"odd"}, "it runs", LONG)
    problem = f"label {PRIORITY_LABEL} is 'urgnt', which the settings do not have; it counts as absent"
    wait_for(lambda: ("NotAsWritten", problem) in q.events("odd"), "its owner is informed", LONG)
