"""Quotas that change with time: work starts when they grow, and is told and evicted when they shrink."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.api.names import NOTICE
from tests.reconciler.reconciler_process import Quotree, eviction_of, note_of, quota, wait_for

pytestmark = pytest.mark.timeout(300)
LONG = 90.0
GROUPS = "/apis/quotree.dev/v1alpha1/quotagroups"


def written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def soon(seconds: float) -> datetime:
    """A whole second, at least so many ahead."""
    return (datetime.now(UTC) + timedelta(seconds=seconds + 1)).replace(microsecond=0)


def grant(until: datetime) -> dict[str, Any]:
    """An override that began a minute ago."""
    return {"from": "2026-01-01T00:00:00Z", "until": written(until), "quotas": [quota(max="3")], "reason": "a release"}


def fill(q: Quotree, group: str, how_many: int) -> None:
    for number in range(how_many):
        q.job(f"{group}-{number}", group, "1")


def evictions(q: Quotree) -> list[dict[str, Any]]:
    return [note for note in map(eviction_of, q.jobs().values()) if note is not None]


def test_what_an_override_gave_goes_after_its_end_and_a_notice(q: Quotree) -> None:
    q.lead(reclaim={"notice": "2s"})
    q.group("vision", quotas=[quota(min="1", max="1")], overrides=[grant(soon(3600))])
    fill(q, "vision", 3)
    wait_for(lambda: len(q.running()) == 3, "all run during the override", LONG)
    amended = wait_for(lambda: q.condition("vision", "Amended"), "the status says so", LONG)
    assert (amended["status"], amended["reason"]) == ("True", "InForce")
    assert amended["message"].startswith("spec.overrides[0] until ")
    assert amended["message"].endswith("(a release)")
    end = soon(3)
    q.group("vision", quotas=[quota(min="1", max="1")], overrides=[grant(end)])
    noticed = wait_for(
        lambda: [note for job in q.jobs().values() if (note := note_of(job, NOTICE))], "they are told", LONG
    )
    assert all(datetime.fromisoformat(each["time"]) >= end for each in noticed)
    wait_for(lambda: len(q.running()) == 1, "two have gone", LONG)
    found = evictions(q)
    assert [(each["reason"], each["rule"]) for each in found] == [("OverCeiling", "Ceiling")] * 2
    assert all(datetime.fromisoformat(each["time"]) >= end + timedelta(seconds=2) for each in found)
    wait_for(lambda: q.condition("vision", "Amended").get("status") == "False", "the status says so", LONG)
    wait_for(lambda: ("AsWritten", "the group is as it is written") in q.events("vision"), "its end is an event", LONG)
    assert [reason for reason, _ in q.events("vision")].count("Amended") in (1, 2)


def test_a_new_leader_at_the_border_changes_nothing(q: Quotree) -> None:
    q.lead()
    q.group("vision", quotas=[quota(min="1", max="1")], overrides=[grant(soon(3600))])
    fill(q, "vision", 3)
    wait_for(lambda: len(q.running()) == 3, "all run during the override", LONG)
    wait_for(lambda: q.condition("vision", "Amended"), "the status says so", LONG)
    end = soon(2)
    q.group("vision", quotas=[quota(min="1", max="1")], overrides=[grant(end)])
    q.kill()
    q.lead()
    wait_for(lambda: len(q.running()) == 1, "two have gone", LONG)
    assert len(evictions(q)) == 2
    assert all(datetime.fromisoformat(each["time"]) >= end for each in evictions(q))


def test_a_window_opens_and_closes_by_its_schedule(q: Quotree) -> None:
    q.lead()
    opens = (datetime.now(UTC) + timedelta(seconds=75)).replace(second=0, microsecond=0)
    window = {"schedule": f"{opens.minute} {opens.hour} * * *", "duration": "40s", "quotas": [quota(max="3")]}
    q.group("vision", quotas=[quota(min="1", max="1")], windows=[window])
    fill(q, "vision", 3)
    wait_for(lambda: len(q.running()) == 1, "one runs before", LONG)
    wait_for(lambda: len(q.running()) == 3, "all run once it is open", LONG)
    assert datetime.now(UTC) >= opens
    wait_for(lambda: len(q.running()) == 1, "two have gone", LONG)
    assert all(datetime.fromisoformat(each["time"]) >= opens + timedelta(seconds=40) for each in evictions(q))
    wait_for(
        lambda: q.condition("vision", "Amended").get("message", "").startswith("next: spec.windows[0] from "),
        "the status says which is next", LONG,
    )  # fmt: skip
