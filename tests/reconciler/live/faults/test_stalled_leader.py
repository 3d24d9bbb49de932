"""A leader that stands still keeps its Lease for as long as its settings say, and one that is frozen loses it."""

import os
import signal
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.reconciler.job_history import counts, recording
from tests.reconciler.reconciler_process import NAMESPACE, Quotree, finished, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/quotree-reconciler"
LEASE_SECONDS = 15
STALL_SECONDS = 20


def stalling(q: Quotree, seconds: float, limit: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A leader that can be made to stand still, and who it is."""
    monkeypatch.setenv("STALL_SECONDS", str(seconds))
    q.module, q.lease_seconds, q.election = "tests.reconciler.stalling", LEASE_SECONDS, {"stallLimit": limit}
    q.lead()
    q.group("vision", quotas=[quota(min="100")])
    return str(lease(q)["holderIdentity"])


def lease(q: Quotree) -> dict[str, Any]:
    return dict(q.get(LEASE)["spec"])


def stand_by(q: Quotree, folder: Path) -> Quotree:
    """A second reconciler that waits for the Lease."""
    folder.mkdir()
    other = Quotree(q.control_plane, folder, lease_seconds=LEASE_SECONDS, preloaded=q.preloaded)
    other.start()
    wait_for(lambda: "Caches synced" in other.log.read_text(), "it stands by", LONG)
    return other


def test_leader_stalled_below_the_limit_keeps_its_lease(
    q: Quotree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = stalling(q, STALL_SECONDS, "60s", monkeypatch)
    other = stand_by(q, tmp_path / "other")
    assert q.process is not None
    try:
        os.kill(q.process.pid, signal.SIGUSR1)
        ends = time.monotonic() + STALL_SECONDS
        q.job("waits", "vision", "1")
        seen = set()
        while time.monotonic() < ends:
            seen.add(lease(q)["holderIdentity"])
            time.sleep(0.5)
        wait_for(lambda: q.running() == {"waits"}, "it goes on deciding", LONG)
        assert seen == {holder}
        assert lease(q)["leaseTransitions"] == 0
        assert q.process.poll() is None
        assert "leading" not in other.log.read_text()
    finally:
        other.kill()


def test_leader_stalled_beyond_the_limit_ends_before_another_leads(
    q: Quotree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = stalling(q, 60, "2s", monkeypatch)
    other = stand_by(q, tmp_path / "other")
    assert q.process is not None
    try:
        os.kill(q.process.pid, signal.SIGUSR1)
        q.job("waits", "vision", "1")
        assert q.process.wait(LONG) == 2
        (end,) = [line for line in q.log.read_text().splitlines() if "it lost the lease and its work does not" in line]
        wait_for(lambda: q.running() == {"waits"}, "the other one leads", LONG)
        taken = lease(q)
        assert taken["holderIdentity"] != holder
        assert datetime.fromisoformat(end.split(" ", 1)[0]) < datetime.fromisoformat(taken["acquireTime"])
    finally:
        other.kill()


def test_leader_frozen_for_longer_than_its_lease_writes_nothing_after_it(q: Quotree, tmp_path: Path) -> None:
    q.lease_seconds = LEASE_SECONDS
    q.lead()
    q.group("vision", quotas=[quota(min="4", max="4")])
    other = stand_by(q, tmp_path / "other")
    frozen = q.process
    assert frozen is not None
    first = lease(q)["holderIdentity"]
    try:
        with recording(q.control_plane) as history:
            for number in range(20):
                q.job(f"waits-{number}", "vision", "2", run_for="1s")
                if number == 1:
                    wait_for(q.running, "the leader starts", LONG)
                    os.kill(frozen.pid, signal.SIGSTOP)
            wait_for(lambda: lease(q)["holderIdentity"] != first, "the other one leads", LONG)
            wait_for(lambda: sum(map(finished, q.jobs().values())) >= 6, "it starts what waits", LONG)
            os.kill(frozen.pid, signal.SIGCONT)
            assert frozen.wait(LONG) == 2
            wait_for(lambda: all(map(finished, q.jobs().values())), "all have finished", LONG)
            wait_for(lambda: sum(history.starts().values()) >= 20, "the recorder has seen all starts", LONG)
        assert counts(history.starts()) == {1: 20}
        assert history.most_used() <= 4000
        assert list(history.wrongs()) == []
        assert lease(q)["leaseTransitions"] == 1
    finally:
        other.kill()
