"""Accounts beside what the API server has recorded: the admissions and ends of the Jobs, not Quotree's own counting."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from click.testing import CliRunner

from cli.commands import report
from shared.api.json.patches import add, test
from shared.api.names import API_VERSION
from shared.quota.measure.accounts.run_times import series_of
from tests.reconciler.reconciler_process import Quotree, admission_of, eviction_of, finished, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
SETTLED = 300.0
MILLI_CPU = 1000
PATCH = "application/json-patch+json"


def milliseconds(text: str) -> int:
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def used_by(job: Mapping[str, Any], cpus: int) -> int:
    """What a finished Job of one pod used since its admission, as its own object says."""
    ends = [each for each in job["status"]["conditions"] if each["type"] in ("Complete", "Failed")]
    admission = admission_of(job)
    assert admission is not None
    begin = milliseconds(admission["time"])
    return cpus * MILLI_CPU * max(0, milliseconds(ends[-1]["lastTransitionTime"]) - begin)


def amount(q: Quotree, group: str, part: str = "used") -> int:
    months = q.group_status(group).get("accounts", [])
    return sum(int(flavor.get(part, {}).get("cpu", 0)) for month in months for flavor in month["flavors"])


def taken(q: Quotree, borrower: str, lender: str) -> int:
    """What the borrower's account says that this sibling lent it."""
    flavors = (flavor for month in q.group_status(borrower).get("accounts", []) for flavor in month["flavors"])
    lenders = (each for flavor in flavors for each in flavor.get("borrowedFrom", []) if each.get("group") == lender)
    return sum(int(each["amounts"].get("cpu", 0)) for each in lenders)


def counted_until(q: Quotree, group: str) -> int:
    text = q.group_status(group).get("accountedUntil")
    return 0 if text is None else milliseconds(text)


def end_of(job: Mapping[str, Any]) -> int:
    """When a finished Job ended."""
    return milliseconds(job["status"]["conditions"][-1]["lastTransitionTime"])


def wait_counted(q: Quotree, ends: Mapping[str, int]) -> None:
    """Wait until the account of each group goes beyond the end of its own last Job: that of an idle group stays."""
    for group, end in ends.items():
        wait_for(lambda group=group, end=end: counted_until(q, group) > end, f"all of {group} is counted", SETTLED)  # type: ignore[misc]


def test_accounts_are_the_times_of_the_jobs_over_killed_leaders(q: Quotree) -> None:
    """Jobs end while a leader leads, and while none does; leaders are killed with nothing written yet."""
    q.lead()
    q.group("root", quotas=[quota(max="8")])
    q.group("research", isParent=True, quotas=[quota(min="6")])
    q.group("vision", parent="research", quotas=[quota(min="2")])
    q.group("nlp", parent="research", quotas=[quota(min="4")])
    cpus = {"one": 1, "two": 2, "long": 1, "last": 3}
    q.job("one", "vision", "1", run_for="4s")
    q.job("two", "nlp", "2")
    q.job("long", "vision", "1")
    wait_for(lambda: {"two", "long"} <= q.running() and finished(q.get_job("one")), "the first ends", LONG)
    q.kill()
    q.finish("two")  # while nobody leads
    q.release()
    q.lead()
    q.job("last", "vision", "3", run_for="5s")
    wait_for(lambda: admission_of(q.get_job("last")), "the next one leads", LONG)
    q.finish("long")
    wait_for(lambda: all(finished(q.get_job(name)) for name in cpus), "all end", LONG)
    ends = {name: end_of(job) for name, job in q.jobs().items()}
    last = {"nlp": ends["two"], "vision": max(ends[name] for name in ("one", "long", "last"))}
    groups = ("root", "research", "vision", "nlp")
    wait_counted(q, {**dict.fromkeys(groups, max(ends.values())), **last})
    used = {name: used_by(q.get_job(name), each) for name, each in cpus.items()}
    assert amount(q, "vision") == used["one"] + used["long"] + used["last"]
    assert amount(q, "nlp") == used["two"]
    assert amount(q, "research") == amount(q, "root") == sum(used.values())
    assert amount(q, "vision", "lost") == 0
    assert amount(q, "vision", "borrowed") > 0
    own = [each for month in q.group_status("vision")["accounts"] for each in month["namespaces"]]
    assert {each["namespace"] for each in own} == {"default"}
    assert sum(int(flavor["used"]["cpu"]) for each in own for flavor in each["flavors"]) == amount(q, "vision")
    assert reported(q) == {name: amount(q, name) for name in groups}
    run_times = q.group_status("vision")["runTimes"]
    assert {each["series"]: each["seconds"] for each in run_times["workloads"]} == {
        series_of(f"default/{name}"): [used_by(q.get_job(name), 1) // MILLI_CPU // 1000]
        for name in ("one", "long", "last")
    }
    created = milliseconds(q.get_job("last")["metadata"]["creationTimestamp"]) // 1000
    assert created in [each for alike in run_times["arrivals"] for each in alike["came"]]


def reported(q: Quotree) -> dict[str, int]:
    """What `quotree report` prints that was used, by group."""
    arguments = ["--kubeconfig", str(q.control_plane.kubeconfig), "-o", "json"]
    answer = CliRunner().invoke(report.command, arguments, catch_exceptions=False)
    return {each["group"]: int(each["used"]) for each in json.loads(answer.stdout)["items"]}


def test_what_an_evicted_job_had_used_is_lost(q: Quotree) -> None:
    q.lead(reclaim={"gracePeriod": "0s"})
    q.group("root", quotas=[quota(max="4")])
    q.group("vision", quotas=[quota(min="2")])
    q.group("nlp", quotas=[quota(min="2")])
    q.job("borrower", "vision", "4")
    wait_for(lambda: q.running() == {"borrower"}, "vision borrows", LONG)
    begin = milliseconds((admission_of(q.get_job("borrower")) or {})["time"])
    q.job("owner", "nlp", "2")
    evicted = wait_for(lambda: eviction_of(q.get_job("borrower")), "nlp has its own back", LONG)
    at = milliseconds((evicted or {})["time"])
    groups = ("root", "vision", "nlp")
    wait_for(lambda: all(counted_until(q, name) > at for name in groups), "the eviction is counted", SETTLED)
    assert amount(q, "vision", "lost") == amount(q, "root", "lost") == 4 * MILLI_CPU * (at - begin)
    assert amount(q, "vision") >= amount(q, "vision", "lost")
    assert amount(q, "nlp", "lost") == 0
    # Each group's status is written by itself: two that are read at a moment may be of different times.
    wait_for(
        lambda: amount(q, "nlp", "lent") == amount(q, "vision", "borrowed") == taken(q, "vision", "nlp") > 0,
        "what one lends, one borrows, from that one",
        SETTLED,
    )


def test_api_server_stores_a_first_account_only_where_there_is_none(q: Quotree) -> None:
    """The guard of `StatusWriter`: a test for null holds for an absent member, and for no other."""
    q.group("vision", quotas=[quota(min="2")])
    path = f"/apis/{API_VERSION}/quotagroups/vision/status"
    q.merge(path, {"status": {"observedGeneration": 1}})
    written = {"observedGeneration": 1, "accountedUntil": "2026-01-01T00:00:00Z"}
    guarded = [test(("status", "accountedUntil"), None), add(("status",), written)]
    answers = [q.control_plane.rest.request("PATCH", path, body=guarded, content_type=PATCH)[0] for _ in range(2)]
    assert answers == [200, 422]
    assert q.group_status("vision") == written
