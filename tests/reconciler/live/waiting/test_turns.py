"""A job larger than its group's share gets a turn, on a real control plane. docs/specification.md §6.11."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shared.api.names import EVICTION, TURN
from tests.reconciler.leaders_clock import lead_by_own_clock, set_clock
from tests.reconciler.reconciler_process import Quotree, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
DAY = timedelta(days=1)
CLOSE = 60
"""Seconds."""
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def annotation(q: Quotree, name: str, which: str) -> str:
    """What the Job says; empty: it has no such annotation."""
    return str(q.get_job(name)["metadata"].get("annotations", {}).get(which, ""))


def full_group_beside_a_large_job(q: Quotree) -> None:
    """Two equal leaves of 4 cpus: a uses all of them, and a job of b that requests 3 has its turn."""
    q.group("p", isParent=True, quotas=[quota(min="4", max="4")])
    for name in ("a", "b"):
        q.group(name, parent="p", quotas=[quota(min="0", max="4")], queueing={"patience": "1s"})
    for number in range(4):
        q.job(f"a{number}", "a", "1")
    wait_for(lambda: len(q.running()) == 4, "a uses everything", LONG)
    q.job("large", "b", "3")
    wait_for(lambda: annotation(q, "large", TURN), "the large job has a turn", LONG)
    wait_for(lambda: "TurnBegan" in dict(q.events("large")), "an event says so", LONG)
    for number in range(3):
        q.job(f"next{number}", "a", "1")
    wait_for(lambda: all(q.events(f"next{number}") for number in range(3)), "the others are told why they wait", LONG)


@pytest.mark.parametrize("is_killed", [False, True], ids=["one leader", "killed in the turn"])
def test_large_job_gets_what_ends(q: Quotree, is_killed: bool) -> None:
    q.lead()
    full_group_beside_a_large_job(q)
    turn = annotation(q, "large", TURN)
    if is_killed:
        q.kill()
        q.release()
        q.lead()
    for number in range(3):
        assert "large" not in q.running()
        q.delete(f"{JOBS}/a{number}")
    wait_for(lambda: q.running() == {"a3", "large"}, "the large job runs, and nothing in its place", LONG)
    assert annotation(q, "large", TURN) == turn
    assert [name for name in ("a3", "large") if annotation(q, name, EVICTION)] == []
    q.delete(f"{JOBS}/large")
    wait_for(lambda: q.running() == {"a3", "next0", "next1", "next2"}, "a uses everything again", LONG)


def test_turn_that_finds_no_room_rests(q: Quotree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader's clock steps to shortly before a rest begins and ends; the moments themselves come by themselves."""
    clock = lead_by_own_clock(q, tmp_path, monkeypatch)
    full_group_beside_a_large_job(q)
    turn = annotation(q, "large", TURN)
    since = datetime.fromisoformat(json.loads(turn)["time"])

    q.delete(f"{JOBS}/a0")
    come_close_to(since + DAY, q, clock)
    assert q.running() == {"a1", "a2", "a3"}, "room gathers until then"
    wait_for(lambda: q.running() == {"a1", "a2", "a3", "next0"}, "the turn rests: a uses what has gathered", LONG)
    q.delete(f"{JOBS}/a1")
    wait_for(lambda: q.running() == {"a2", "a3", "next0", "next1"}, "and what ends", LONG)

    come_close_to(since + 2 * DAY, q, clock)
    q.delete(f"{JOBS}/a2")
    wait_for(lambda: q.running() == {"a3", "next0", "next1", "next2"}, "a uses it to the end of the rest", LONG)
    wait_until(since + 2 * DAY, clock)
    q.job("last", "a", "1")
    for name in ("a3", "next0", "next1"):
        assert "large" not in q.running()
        q.delete(f"{JOBS}/{name}")
    wait_for(lambda: q.running() == {"next2", "large"}, "the turn counts again: the large job runs", LONG)
    assert annotation(q, "large", TURN) == turn
    assert [name for name in q.jobs() if annotation(q, name, EVICTION)] == []


def come_close_to(moment: datetime, q: Quotree, clock: Path) -> None:
    """Step the leader's clock, and wait until it has decided by it."""
    set_clock(clock, round((moment - datetime.now(UTC)).total_seconds()) - CLOSE)
    name = f"seen-{moment.day}"
    q.job(name, "a", "1")
    wait_for(lambda: q.events(name), "a Job that comes then is told why it waits", LONG)
    q.delete(f"{JOBS}/{name}")
    assert leaders_time(clock) < moment, "this machine is too slow for this test"


def wait_until(moment: datetime, clock: Path) -> None:
    """Return when the leader's clock says so."""
    wait_for(lambda: leaders_time(clock) > moment, "it is that late", LONG)


def leaders_time(clock: Path) -> datetime:
    """What the leader's clock says."""
    return datetime.now(UTC) + timedelta(seconds=float(clock.read_text()))
