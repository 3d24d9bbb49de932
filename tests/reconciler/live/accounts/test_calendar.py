"""Accounts over both changes of daylight saving and two month's ends, beside a count of the Jobs' times by hand."""

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.reconciler.calendar_clock import ahead_at
from tests.reconciler.live.accounts.test_accounts import LONG, MILLI_CPU, SETTLED, counted_until, milliseconds
from tests.reconciler.reconciler_process import Quotree, admission_of, finished, quota, wait_for

pytestmark = pytest.mark.timeout(900)
ENDS = (("2027-03", "2027-03-31T22:00:00Z"), ("2027-10", "2027-10-31T23:00:00Z"), ("2027-11", "2027-11-30T23:00:00Z"))
"""When these months end in Berlin, in UTC; between the first two nothing runs for longer than April."""
APRIL = "2027-04"
BEFORE = timedelta(seconds=15)
GROUPS = ("vision", "research", "root")


class Calendar:
    """The clock of the reconcilers."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.steps: list[tuple[float, float]] = []

    def step(self, to: str) -> None:
        """Let it be a little before that moment now."""
        now = time.time()
        self.steps.append((now, (datetime.fromisoformat(to) - BEFORE).timestamp() - now))
        written = self._file.with_suffix(".new")
        written.write_text(json.dumps(self.steps))
        written.replace(self._file)

    def now(self) -> datetime:
        found = datetime.now(UTC)
        return found + ahead_at(found, self.steps)

    def wait_until(self, moment: str) -> None:
        wait_for(lambda: self.now() > datetime.fromisoformat(moment) + timedelta(seconds=5), f"it is {moment}", LONG)


def used_by_month(job: dict[str, Any], cpus: int, calendar: Calendar) -> dict[str, int]:
    """What a Job used of the months that it ran in: its admission is by the reconcilers' clock, its end is not."""
    admission = admission_of(job)
    assert admission is not None
    begin = milliseconds(admission["time"])
    [over] = [each for each in job["status"]["conditions"] if each["type"] == "Complete"]
    end = datetime.fromisoformat(over["lastTransitionTime"])
    ended = milliseconds((end + ahead_at(end, calendar.steps)).isoformat())
    found = {}
    for month, until in (*ENDS[:1], (APRIL, "2027-04-30T22:00:00Z"), *ENDS[1:]):
        part = min(ended, milliseconds(until)) - begin
        if part > 0:
            found[month] = cpus * MILLI_CPU * part
            begin += part
    assert begin >= ended
    return found


def accounts(q: Quotree, group: str) -> dict[str, int]:
    months = q.group_status(group).get("accounts", [])
    return {month["period"]: sum(int(each["used"]["cpu"]) for each in month["flavors"]) for month in months}


def test_accounts_are_the_times_of_the_jobs_over_months_ends_and_changes_of_daylight_saving(
    q: Quotree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the ends of the months nobody leads."""
    monkeypatch.setenv("CLOCK_FILE", str(tmp_path / "clock"))
    calendar = Calendar(tmp_path / "clock")
    q.module = "tests.reconciler.calendar_clock"
    q.accounts = {"timeZone": "Europe/Berlin", "keep": 5}
    cpus: dict[str, int] = {}

    def submit(name: str, cpu: int, run_for: str | None = None) -> None:
        """Without `run_for` it runs until the test ends it: a slow machine must not let it end too soon."""
        cpus[name] = cpu
        q.job(name, "vision", str(cpu), run_for=run_for)

    def finish(name: str, running: int) -> None:
        """Wait until the leader has seen it, too: what it counts of a leap of the clock, nobody takes back."""
        q.finish(name)
        wait_for(lambda: q.workload_counts("vision").get("admitted") == running, f"{running} run", LONG)

    def end_of_month(moment: str) -> None:
        q.kill()
        calendar.wait_until(moment)
        q.release()
        q.lead()

    calendar.step("2027-03-28T00:30:00Z")
    q.lead()
    q.group("root", quotas=[quota(max="16")])
    q.group("research", isParent=True, quotas=[quota(min="12")])
    q.group("vision", parent="research", quotas=[quota(min="2")])
    calendar.step("2027-03-28T01:00:00Z")  # 2:00 in Berlin, where it becomes 3:00
    submit("over-spring", 1)
    submit("into-april", 2)
    wait_for(lambda: q.running() == {"over-spring", "into-april"}, "both run", LONG)
    calendar.wait_until("2027-03-28T01:00:00Z")
    finish("over-spring", 1)
    calendar.step("2027-03-31T22:00:00Z")
    submit("march", 3, "1s")
    wait_for(lambda: finished(q.get_job("march")), "it ends", LONG)
    end_of_month("2027-03-31T22:00:00Z")
    finish("into-april", 0)
    calendar.step("2027-10-31T01:00:00Z")  # 3:00 in Berlin, where it becomes 2:00
    submit("over-autumn", 1)
    submit("into-november", 2)
    wait_for(lambda: {"over-autumn", "into-november"} <= q.running(), "both run", LONG)
    calendar.wait_until("2027-10-31T01:00:00Z")
    finish("over-autumn", 1)
    calendar.step("2027-10-31T23:00:00Z")
    end_of_month("2027-10-31T23:00:00Z")
    finish("into-november", 0)
    last = milliseconds(calendar.now().isoformat())
    wait_for(lambda: all(counted_until(q, name) > last - 1000 for name in GROUPS), "all is counted", SETTLED)
    used: dict[str, int] = {}
    for name, cpu in cpus.items():
        for month, amount in used_by_month(q.get_job(name), cpu, calendar).items():
            used[month] = used.get(month, 0) + amount
    assert sorted(used) == ["2027-03", APRIL, "2027-10", "2027-11"]
    assert {group: accounts(q, group) for group in GROUPS} == dict.fromkeys(GROUPS, used)
