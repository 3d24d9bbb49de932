"""A live run is recorded and lived through again: the same starts and evictions in the same order."""

import json
import time
from pathlib import Path

from shared.api.names import EVICTION
from tests.e2e.kubectl_steps import Asking
from tests.recordings import is_recorded


def _order(events: list[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """What happened to which workload, in the order of the times."""
    return [(what, name) for _, what, name in sorted(events)]


def was_evicted(ask: Asking, name: str) -> bool:
    """Whether it was, even if it runs again by now."""
    return EVICTION in ask.job(name)["metadata"].get("annotations", {})


def test_a_recorded_run_replays_with_the_same_starts_and_evictions(ask: Asking, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl.gz"
    ask.known("vision")
    recording = ask.quotree.begin("record", "-o", str(log), "--interval", "200ms")
    ask.until("the log has begun", lambda: log.exists() and log.stat().st_size > 0)

    ask.submit("lent", "vision", 6)
    ask.until("it borrows", lambda: not ask.is_held("lent"))
    # Long enough for the owner to come while it runs, however slow this machine is.
    ask.submit("small", "language", 2, run_for="60s")
    ask.until("what was idle is used", lambda: not ask.is_held("small"))
    ask.submit("owner", "language", 2, run_for="6s")
    ask.until("it takes its min back", lambda: not ask.is_held("owner") and was_evicted(ask, "lent"))
    ask.until("what was evicted runs again", lambda: not ask.is_held("lent"))
    # Its pods are seen to have ended before its Job says so, which is all that this log knows.
    ask.until("the log can say that it has ended", lambda: ask.is_complete("owner"))
    # The log ends later than its replay, each step of which is as late as a look of a busy machine can be.
    time.sleep(5)
    ask.submit("waits", "vision", 6)
    ask.until("the log has it", lambda: is_recorded(log, b'"waits"'))
    recording.terminate()
    assert recording.wait(timeout=60) == 0

    # All of it may have happened within the second that changes are gathered for by default.
    rows = json.loads(ask.quotree.command("replay", str(log), "--gather", "50ms", "-o", "json"))
    recorded, replayed = (
        [
            (at, what, each["workload"])
            for each in rows["workloads"]
            for what in ("starts", "evictions")
            for at in each[source][what]
        ]
        for source in ("recorded", "replayed")
    )
    expected = ["starts lent", "starts small", "evictions lent", "starts owner", "starts lent"]
    assert [f"{what} {name.removeprefix('default/')}" for what, name in _order(recorded)] == expected
    assert [what for what, name in _order(replayed) if name == "default/lent"] == ["starts", "evictions", "starts"]
    assert sorted(_order(replayed)) == sorted(_order(recorded))
