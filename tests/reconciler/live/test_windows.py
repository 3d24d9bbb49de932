"""Quotas that change with time: work starts when they grow, and is told and evicted when they shrink."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from shared.api.names import NOTICE
from tests.reconciler.reconciler_process import Quotree, eviction_of, note_of, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
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


def notices(q: Quotree) -> dict[str, dict[str, Any]]:
    """The Jobs that have notice of their eviction, with what it says."""
    return {name: note for name, job in q.jobs().items() if (note := note_of(job, NOTICE))}


def times_noticed(q: Quotree, job: str) -> int:
    return [reason for reason, _ in q.events(job)].count("EvictionNotice")


def times_started(q: Quotree, job: str) -> int:
    return [reason for reason, _ in q.events(job)].count("Started")


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
    """vision's override ends when one of nlp begins. Two of vision were told before, and the leader that told them is
    killed: the next one tells nobody, and after the border two have gone and two have started, each once.
    """
    q.lead(reclaim={"notice": "1s"})
    far, own = grant(soon(3600)), {"quotas": [quota(min="1", max="1")]}
    q.group("vision", **own, overrides=[far])
    q.group("nlp", quotas=[quota(min="0", max="0")])
    fill(q, "vision", 3)
    fill(q, "nlp", 2)
    wait_for(lambda: len(q.running()) == 3, "all of vision run during the override", LONG)
    q.group("vision", **own, overrides=[far | {"noticeBefore": "2h"}])
    wait_for(lambda: len(notices(q)) == 2, "two are told long before its end", LONG)
    noticed = notices(q)
    assert [each["evictAt"] for each in noticed.values()] == [far["until"]] * 2
    wait_for(lambda: all(map(partial(times_noticed, q), noticed)), "by an event, too", LONG)
    q.kill()
    border = soon(3)
    begins = {"from": written(border), "until": "2126-01-01T00:00:00Z", "quotas": [quota(max="2")]}
    q.group("nlp", quotas=[quota(min="0", max="0")], overrides=[begins])
    q.group("vision", **own, overrides=[grant(border) | {"noticeBefore": "2h"}])
    q.release()
    q.lead(reclaim={"notice": "1s"})
    wait_for(lambda: len(evictions(q)) == 2, "two are evicted", LONG)
    assert {name for name, job in q.jobs().items() if eviction_of(job)} == noticed.keys()
    assert all(datetime.fromisoformat(each["time"]) >= border for each in evictions(q))
    wait_for(lambda: {"nlp-0", "nlp-1"} < q.running() and len(q.running()) == 3, "two of nlp run", LONG)
    wait_for(lambda: all(times_started(q, each) for each in ("nlp-0", "nlp-1")), "their starts are events", LONG)
    assert [times_noticed(q, each) for each in noticed] == [1, 1]
    assert [times_started(q, each) for each in ("nlp-0", "nlp-1")] == [1, 1]


def test_notice_that_was_given_early_is_withdrawn_when_the_end_moves(q: Quotree) -> None:
    q.lead()
    own = {"quotas": [quota(min="1", max="1")]}
    q.group("vision", **own, overrides=[grant(soon(3600)) | {"noticeBefore": "2h"}])
    fill(q, "vision", 2)
    wait_for(lambda: len(notices(q)) == 1, "one is told, also without reclaim.notice", LONG)
    q.group("vision", **own, overrides=[grant(soon(36000)) | {"noticeBefore": "2h"}])
    wait_for(lambda: not notices(q), "it may stay", LONG)
    assert len(q.running()) == 2


def test_a_window_opens_and_closes_by_its_schedule(q: Quotree) -> None:
    q.lead()
    opens = (datetime.now(UTC) + timedelta(seconds=105)).replace(second=0, microsecond=0)
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
