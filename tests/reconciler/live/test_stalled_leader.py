"""A leader whose event loop stands still keeps its Lease for as long as its settings say, and no longer."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.reconciler.reconciler_process import NAMESPACE, Quotree, quota, wait_for

pytestmark = pytest.mark.timeout(300)
LONG = 90.0
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/quotree-reconciler"
LEASE_SECONDS = 9


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
    holder = stalling(q, 12, "30s", monkeypatch)
    other = stand_by(q, tmp_path / "other")
    assert q.process is not None
    try:
        os.kill(q.process.pid, signal.SIGUSR1)
        ends = time.monotonic() + 12
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
        assert q.process.wait(90) == 2
        assert lease(q)["holderIdentity"] == holder
        assert "it lost the lease and its work does not stop" in q.log.read_text()
        wait_for(lambda: q.running() == {"waits"}, "the other one leads", LONG)
        assert lease(q)["holderIdentity"] != holder
    finally:
        other.kill()
