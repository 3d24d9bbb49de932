"""What leaders record, one after the other, replays as it was: starts, evictions and edits in their order."""

import json
import time
from datetime import datetime, timedelta
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from click.testing import CliRunner

from cli.commands.offline import replay
from tests.reconciler.reconciler_process import Quotree, eviction_of, finished, quota, wait_for
from tests.recordings import is_recorded

LONG = 240.0
AT_ONCE = timedelta(seconds=1)
"""So long a loaded machine may hold up the leader between two looks: what it decided then comes in either order."""

BETWEEN_STEPS = 5.0
"""In the replay, steps come later by as long as a new leader needs for its first lines: seconds on a loaded machine."""


def replayed(folder: Path) -> list[dict[str, Any]]:
    result = CliRunner().invoke(replay.command, [str(folder), "-o", "json"])
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)["workloads"]
    return found


def knows(folder: Path, cpu: str) -> bool:
    """Whether the recording has a group with that limit."""
    return any(is_recorded(file, f'{{"cpu":"{cpu}"}}'.encode()) for file in folder.iterdir())


def order(workloads: list[dict[str, Any]], source: str) -> list[tuple[str, str]]:
    """What happened to which workload, in the order of the times."""
    events = [
        (datetime.fromisoformat(at), what, each["workload"].partition("/")[2])
        for each in workloads
        for what in ("starts", "evictions")
        for at in each[source][what]
    ]
    return [(what, name) for _, what, name in sorted(events)]


def events(workloads: list[dict[str, Any]], source: str) -> dict[tuple[str, str, int], datetime]:
    """When each workload was started and evicted for which time."""
    return {
        (each["workload"], what, number): datetime.fromisoformat(at)
        for each in workloads
        for what in ("starts", "evictions")
        for number, at in enumerate(each[source][what])
    }


def test_every_start_and_eviction_of_a_crowded_run_comes_again_in_the_same_order(q: Quotree, tmp_path: Path) -> None:
    q.recording = tmp_path / "logs"
    q.lead()
    q.group("root", quotas=[quota(max="12")])
    for leaf in ("vision", "nlp"):
        q.group(leaf, quotas=[quota(min="6")])
    q.known("nlp")
    wait_for(lambda: q.metric("quotree_recording_lines_total") > 0, "it records", LONG)
    dice = Random(1)
    for number in range(40):
        # First one leaf borrows nearly all, then the other one takes its min back.
        leaf = dice.choice(("vision", "vision", "vision", "nlp") if number < 20 else ("nlp", "nlp", "nlp", "vision"))
        q.job(f"{leaf}-{number}", leaf, str(dice.choice((1, 2, 3))), run_for=f"{dice.randint(2, 6)}s")
        if number == 30:
            q.group("root", quotas=[quota(max="15")])
        time.sleep(0.3)
    wait_for(lambda: all(map(finished, q.jobs().values())), "all end", LONG)
    time.sleep(2)
    q.group("root", quotas=[quota(max="16")])  # the log ends later than the replay of what it says
    wait_for(lambda: knows(tmp_path / "logs", "16"), "the edit is written", LONG)
    assert q.stop() == 0
    workloads = replayed(q.recording)
    recorded, again = events(workloads, "recorded"), events(workloads, "replayed")
    assert recorded.keys() == again.keys()
    assert len(recorded) > 40, "nothing was evicted"
    in_order = sorted((at, again[event]) for event, at in recorded.items())
    exchanged = [
        (first, second)
        for first, second in combinations(in_order, 2)
        if second[0] - first[0] > AT_ONCE and first[1] > second[1]
    ]
    assert exchanged == []


def test_a_recording_over_a_killed_leader_replays_as_it_was(q: Quotree, tmp_path: Path) -> None:
    q.recording = tmp_path / "logs"
    q.lead()
    q.group("root", quotas=[quota(max="8")])
    q.group("vision", quotas=[quota(min="4")])
    q.group("nlp", quotas=[quota(min="4")])
    q.known("nlp")
    q.job("lent", "vision", "6")
    wait_for(lambda: "lent" in q.running(), "it borrows", LONG)
    wait_for(lambda: q.metric("quotree_recording_lines_total") > 0, "it records", LONG)
    q.kill()  # its last lines might be missing, and its file has no end
    q.job("owner", "nlp", "4", run_for="4s")
    q.release()
    q.lead()
    wait_for(lambda: eviction_of(q.get_job("lent")) is not None, "the owner takes its min back", LONG)
    wait_for(lambda: finished(q.get_job("owner")), "the owner ends", LONG)
    wait_for(lambda: "lent" in q.running(), "what was evicted runs again", LONG)
    time.sleep(BETWEEN_STEPS)
    q.job("more", "vision", "4")
    q.known("vision")
    q.group("root", quotas=[quota(max="12")])
    wait_for(lambda: "more" in q.running(), "there is more", LONG)
    time.sleep(BETWEEN_STEPS)
    q.group("root", quotas=[quota(max="13")])  # the log ends later than the replay of what it says
    expected = [
        ("starts", "lent"),
        ("evictions", "lent"),
        ("starts", "owner"),
        ("starts", "lent"),
        ("starts", "more"),
    ]
    wait_for(lambda: knows(tmp_path / "logs", "13"), "the edit is written", LONG)
    wait_for(lambda: order(replayed(tmp_path / "logs"), "recorded") == expected, "all is written", LONG)
    assert q.stop() == 0
    assert len(list(q.recording.iterdir())) == 2
    workloads = replayed(q.recording)
    assert order(workloads, "recorded") == expected
    assert order(workloads, "replayed") == expected
