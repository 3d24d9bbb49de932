"""A job larger than its group's share gets a turn, on a real control plane. docs/specification.md §6.11."""

import pytest

from shared.api.names import EVICTION, TURN
from tests.reconciler.reconciler_process import Quotree, quota, wait_for

pytestmark = pytest.mark.timeout(400)
LONG = 120.0
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
    assert "TurnBegan" in [reason for reason, _ in q.events("large")]
    assert [name for name in ("a3", "large") if annotation(q, name, EVICTION)] == []
    q.delete(f"{JOBS}/large")
    wait_for(lambda: q.running() == {"a3", "next0", "next1", "next2"}, "a uses everything again", LONG)
