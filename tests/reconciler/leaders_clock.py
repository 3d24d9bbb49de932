"""The clock of a leader, which a test sets."""

from pathlib import Path

import pytest

from tests.reconciler.reconciler_process import Quotree


def lead_by_own_clock(q: Quotree, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Start a leader whose clock is right until `set_clock`; return the file that says how far it is ahead."""
    clock = folder / "clock"
    set_clock(clock, 0)
    monkeypatch.setenv("CLOCK_FILE", str(clock))
    q.module = "tests.reconciler.stepping"
    q.lead()
    return clock


def set_clock(clock: Path, ahead: int) -> None:
    """Let the leader's clock be so many seconds ahead, at once: the file is read all the time."""
    written = clock.with_suffix(".new")
    written.write_text(str(ahead))
    written.replace(clock)
