"""Budgets in a cluster: spent at the millisecond that follows from the admissions of the Jobs, and what follows."""

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from click.testing import CliRunner

from cli.commands import explain
from tests.reconciler.reconciler_process import Quotree, admission_of, eviction_of, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
MILLI_CPU = 1000
FIRM = {"quotree.dev/preemptible": "false"}


def milliseconds(text: str) -> int:
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def begin_of(job: Mapping[str, Any]) -> int:
    admission = admission_of(job)
    assert admission is not None
    return milliseconds(admission["time"])


def budget(hours: str, when: str, period: str = "Year") -> list[dict[str, Any]]:
    """A budget of cpu; 10m hours are 36 seconds of one core. No year ends during a test that is not run on New Year."""
    return [{"resource": "cpu", "hours": hours, "period": period, "whenSpent": when}]


def tree(q: Quotree, budgets: list[dict[str, Any]], cpus: str = "16") -> None:
    """research has a budget, and two leaves; the leader has seen it before anything runs."""
    q.group("root", quotas=[quota(max=cpus)])
    q.group("research", isParent=True, quotas=[quota(min="4")], budgets=budgets)
    q.group("vision", parent="research", quotas=[quota(min="2")])
    q.group("nlp", parent="research", quotas=[quota(min="2")])
    wait_for(lambda: len(q.group_status("research").get("budgets", [])) == len(budgets), "the budgets are known", LONG)


def spent_at(q: Quotree, at: int = 0, group: str = "research") -> int:
    """When the status says that the budget was spent; 0: not yet."""
    text = q.group_status(group)["budgets"][at].get("spentAt")
    return 0 if text is None else milliseconds(text)


def reached(amount: int, jobs: Sequence[tuple[int, int]]) -> int:
    """The first millisecond at which Jobs with these begins and cpus have used the amount."""
    used, level, now = 0, 0, 0
    for begin, cpus in sorted(jobs):
        if level and used + level * (begin - now) >= amount:
            break
        used, level, now = used + level * (begin - now), level + cpus * MILLI_CPU, begin
    return now - (-(amount - used) // level)


def remedies_of(q: Quotree, job: str) -> list[dict[str, Any]]:
    """What `quotree explain` says would let the Job start."""
    programs = q.control_plane
    runner = CliRunner(env={"PATH": f"{programs.binaries.kubectl.parent}:{os.environ['PATH']}"})
    answer = runner.invoke(explain.command, [job, "-o", "json", "--kubeconfig", str(programs.kubeconfig)])
    assert answer.exit_code == 0, answer.output or answer.exception
    found: list[dict[str, Any]] = json.loads(answer.stdout)["remedies"]
    return found


def test_nothing_starts_in_the_subtree_from_the_millisecond_on_and_a_larger_budget_holds_at_once(q: Quotree) -> None:
    q.lead()
    tree(q, budget("10m", "NoStart"))
    q.job("one", "vision", "2")
    q.job("two", "nlp", "1")
    wait_for(lambda: q.running() == {"one", "two"}, "both run", LONG)
    wait_for(lambda: spent_at(q), "the budget is spent", LONG)
    expected = reached(36_000 * MILLI_CPU, [(begin_of(q.get_job("one")), 2), (begin_of(q.get_job("two")), 1)])
    assert spent_at(q) == expected
    q.job("late", "nlp", "1")
    wait_for(lambda: q.condition("nlp", "Stopped").get("status") == "True", "it is on hold", LONG)
    wait_for(lambda: q.group_status("nlp")["workloads"]["pending"] == 1, "the late one is seen", LONG)
    wait_for(lambda: q.condition("research", "WithinBudget")["reason"] == "NoStart", "the group above says why", LONG)
    assert q.running() == {"one", "two"}
    (remedy,) = remedies_of(q, "late")
    assert remedy == {"do": "RaiseBudget", "group": "research", "timeZone": "UTC", **budget("5", "NoStart")[0]}
    q.group("research", budgets=budget(remedy["hours"], "NoStart"))
    wait_for(lambda: q.running() == {"one", "two", "late"}, "a larger budget lets it start", LONG)
    wait_for(lambda: q.condition("research", "WithinBudget")["status"] == "True", "its status says so", LONG)
    assert begin_of(q.get_job("late")) > expected


def test_drain_evicts_what_is_preemptible_and_nothing_else(q: Quotree) -> None:
    q.lead()
    tree(q, [*budget("4m", "Warn"), *budget("8m", "Drain")])
    q.job("loose", "vision", "2")
    q.job("firm", "nlp", "1", labels=FIRM)
    evicted = wait_for(lambda: eviction_of(q.get_job("loose")), "it is drained", LONG) or {}
    jobs = [(milliseconds(evicted["since"]), 2), (begin_of(q.get_job("firm")), 1)]
    assert (evicted["reason"], evicted["rule"]) == ("GroupStopped", "StopPolicy")
    wait_for(lambda: spent_at(q, 1), "the status says when", LONG)
    assert (spent_at(q, 0), spent_at(q, 1)) == tuple(reached(each * MILLI_CPU, jobs) for each in (14_400, 28_800))
    assert milliseconds(evicted["time"]) >= spent_at(q, 1)
    assert q.running() == {"firm"}
    assert eviction_of(q.get_job("firm")) is None


def test_no_borrow_takes_back_what_was_borrowed(q: Quotree) -> None:
    q.lead(reclaim={"gracePeriod": "0s"})
    tree(q, budget("10m", "NoBorrow"))
    # One decision might find both, with creation times of one second: then the order of their names is theirs.
    q.job("a-within", "vision", "2")
    q.job("b-beyond", "vision", "4")
    evicted = wait_for(lambda: eviction_of(q.get_job("b-beyond")), "the borrowed one goes", LONG) or {}
    jobs = [(begin_of(q.get_job("a-within")), 2), (milliseconds(evicted["since"]), 4)]
    assert evicted["rule"] == "Ceiling"
    assert wait_for(lambda: spent_at(q), "the status says when", LONG) == reached(36_000 * MILLI_CPU, jobs)
    q.job("own", "nlp", "2")
    wait_for(lambda: q.running() == {"a-within", "own"}, "what is within min starts", LONG)


def test_a_leader_that_is_killed_before_that_moment_changes_nothing(q: Quotree) -> None:
    """It is dead while the budget is spent; the next one knows the moment, and starts nothing before it knows."""
    q.lead()
    tree(q, budget("20m", "NoStart"))
    q.job("one", "vision", "4")
    wait_for(lambda: q.running() == {"one"}, "it runs", LONG)
    expected = reached(72_000 * MILLI_CPU, [(begin_of(q.get_job("one")), 4)])
    # The 10 s that are left are for a slow machine.
    wait_for(lambda: datetime.now(UTC).timestamp() * 1000 > expected - 10_000, "it is half spent", LONG, every=0.05)
    q.kill()
    assert spent_at(q) == 0
    q.job("late", "nlp", "1")
    wait_for(lambda: datetime.now(UTC).timestamp() * 1000 > expected, "it is spent meanwhile", LONG, every=0.05)
    q.release()
    q.lead()
    assert wait_for(lambda: spent_at(q), "the next leader knows", LONG) == expected
    wait_for(lambda: q.condition("nlp", "Stopped").get("status") == "True", "it is on hold", LONG)
    assert q.running() == {"one"}


def test_override_takes_the_hours_for_a_time_and_gives_them_back(q: Quotree) -> None:
    q.lead()
    now = datetime.now(UTC)
    times = {"from": (now - timedelta(hours=1)).isoformat(), "until": (now + timedelta(seconds=10)).isoformat()}
    own = budget("1", "NoStart")
    nothing = {**times, "budgets": [{**own[0], "hours": "0"}]}
    q.group("vision", quotas=[quota(min="2")], budgets=own, overrides=[nothing])
    q.job("waits", "vision", "1")
    wait_for(lambda: "waits" in q.running(), "it starts when the override has ended", LONG)
    began = begin_of(q.get_job("waits"))
    assert began >= milliseconds(times["until"])
