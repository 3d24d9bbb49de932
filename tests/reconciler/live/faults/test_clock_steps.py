"""The clock of the leader steps by an hour and by a year, to and fro: what runs goes on, and decisions do."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.reconciler.leaders_clock import lead_by_own_clock, set_clock
from tests.reconciler.reconciler_process import Quotree, admission_of, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
HOUR, YEAR = 3600, 365 * 86400


def test_decisions_go_on_over_steps_of_the_clock(q: Quotree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = lead_by_own_clock(q, tmp_path, monkeypatch)
    q.group("root", quotas=[quota(max="8")])
    q.group("vision", quotas=[quota(min="4")])
    q.group("nlp", quotas=[quota(min="4")])
    q.job("stays", "vision", "2")
    wait_for(lambda: q.running() == {"stays"}, "it runs", LONG)
    for number, step in enumerate((HOUR, -HOUR, YEAR, -YEAR, 0)):
        set_clock(clock, step)
        borrower, owner = f"borrower-{number}", f"owner-{number}"
        q.job(borrower, "vision", "5")
        wait_for(lambda name=borrower: name in q.running(), f"vision borrows, {step} s ahead", LONG)  # type: ignore[misc]
        started = datetime.fromisoformat(str((admission_of(q.get_job(borrower)) or {})["time"]))
        assert abs((started - datetime.now(UTC)).total_seconds() - step) < HOUR / 2
        q.job(owner, "nlp", "4")
        wait_for(lambda name=owner: name in q.running(), f"nlp has its own back, {step} s ahead", LONG)  # type: ignore[misc]
        assert q.running() == {"stays", owner}
        for name in (owner, borrower):
            q.delete(f"/apis/batch/v1/namespaces/default/jobs/{name}")
        wait_for(lambda: q.running() == {"stays"} and set(q.jobs()) == {"stays"}, "they are gone", LONG)
    assert q.process is not None
    assert q.process.poll() is None
    assert q.metric("quotree_faults_total") == 0
