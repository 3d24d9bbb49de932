"""Accounts under bad networks, clocks that step, and leaders that are frozen, killed, or two at once.

Each beside a count of the states that the API showed.
"""

import os
import signal
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from shared.api.annotations import read_annotations
from shared.api.core.job import Job
from shared.api.core.pod_request import effective_request
from shared.api.names import GROUP_LABEL
from tests.chaos.running.network_faults import noise
from tests.faults.proxy import FaultProxy
from tests.reconciler.job_history import History, recording
from tests.reconciler.leaders_clock import lead_by_own_clock, set_clock
from tests.reconciler.live.accounts.test_accounts import amount, wait_counted
from tests.reconciler.reconciler_process import Quotree, admission_of, finished, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0
SETTLED = 300.0
LEASE_SECONDS = 9
BEHIND = 600
"""Seconds."""
NOBODY_EVICTED = {"gracePeriod": "10m"}
"""No Job runs for so long: each is started once, however late its group's others come."""
PATHS = {"vision": ("vision", "research", "root"), "nlp": ("nlp", "research", "root"), "web": ("web", "root")}


def milliseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def used_in(history: History) -> dict[str, int]:
    """What each group used, from the states of all Jobs alone: from the admission to the end in its condition."""
    used: dict[str, int] = defaultdict(int)
    for states in history.states.values():
        for group in PATHS[states[-1].metadata.labels[GROUP_LABEL]]:
            used[group] += used_by(states)
    return dict(used)


def used_by(states: list[Job]) -> int:
    """Each Job was started once."""
    found = [read_annotations(each.metadata.annotations).admission for each in states]
    [begin] = {each.time for each in found if each is not None}
    return effective_request(states[-1].spec.template.spec)["cpu"] * (end_of(states) - milliseconds(begin))


def end_of(states: list[Job]) -> int:
    [end] = {each.finished_at for each in states if each.finished_at is not None}
    return milliseconds(end)


def last_ends(jobs: Iterable[list[Job]]) -> dict[str, int]:
    """When the last Job of each group ended."""
    found: dict[str, int] = defaultdict(int)
    for states in jobs:
        for group in PATHS[states[-1].metadata.labels[GROUP_LABEL]]:
            found[group] = max(found[group], end_of(states))
    return dict(found)


def test_accounts_are_what_the_api_showed_with_leaders_frozen_killed_and_two_at_once(
    q: Quotree, tmp_path: Path
) -> None:
    q.lease_seconds = LEASE_SECONDS
    q.lead(reclaim=NOBODY_EVICTED)
    q.group("root", quotas=[quota(max="9")])
    q.group("research", isParent=True, quotas=[quota(min="4")])
    q.group("vision", parent="research", quotas=[quota(min="2")])
    q.group("nlp", parent="research", quotas=[quota(min="2")])
    q.group("web", quotas=[quota(min="2")])
    frozen = q.process
    assert frozen is not None
    folder = tmp_path / "other"
    folder.mkdir()
    other = Quotree(q.control_plane, folder, lease_seconds=LEASE_SECONDS, preloaded=q.preloaded)
    other.start(reclaim=NOBODY_EVICTED)
    try:
        with recording(q.control_plane) as history:
            for number in range(6):
                submit(q, number)
            # Started, not running: on a slow machine the short ones end before the last of them starts.
            wait_for(lambda: sum(map(has_started, q.jobs().values())) >= 4, "the first leader starts", LONG)
            os.kill(frozen.pid, signal.SIGSTOP)
            for number in range(6, 12):
                submit(q, number)
            wait_for(lambda: finished(q.get_job("job-8")), "the second one leads", LONG)
            os.kill(frozen.pid, signal.SIGCONT)  # two at once, until it notices
            frozen.wait(LONG)
            for number in range(12, 18):
                submit(q, number)
            wait_for(lambda: sum(map(finished, q.jobs().values())) >= 13, "it goes on", LONG)
            other.kill()  # with up to a minute that is not written
            wait_for(lambda: len(q.running()) <= 2, "Jobs end while nobody leads", LONG)
            q.release()
            q.lead(reclaim=NOBODY_EVICTED)
            wait_for(lambda: all(map(finished, q.jobs().values())), "all end", LONG)
        assert len(history.states) == 18
        used = used_in(history)
        wait_counted(q, last_ends(history.states.values()))
        assert {name: amount(q, name) for name in used} == used
        assert used["root"] == used["research"] + used["web"] == used["vision"] + used["nlp"] + used["web"]
    finally:
        other.kill()


def has_started(job: dict[str, Any]) -> bool:
    return admission_of(job) is not None


def submit(q: Quotree, number: int) -> None:
    """One of three groups; of 1 or 2 cpus, for up to 7 seconds."""
    group = sorted(PATHS)[number % 3]
    q.job(f"job-{number}", group, str(1 + number % 2), run_for=f"{1 + number * 5 % 7}s")


def test_accounts_are_what_the_api_showed_over_a_bad_network_and_a_clock_that_goes_back(
    q: Quotree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each Job starts by the right clock. Some end while it is behind, and some once it is right again."""
    with FaultProxy(q.control_plane.url, q.control_plane.ca_file).running() as proxy:
        q.kubeconfig = proxy.side("only").kubeconfig(q.control_plane.kubeconfig, tmp_path / "through.yaml")
        clock = lead_by_own_clock(q, tmp_path, monkeypatch)
        q.group("root", quotas=[quota(max="16")])
        q.group("research", isParent=True, quotas=[quota(min="8")])
        q.group("vision", parent="research", quotas=[quota(min="4")])
        q.group("nlp", parent="research", quotas=[quota(min="4")])
        q.group("web", quotas=[quota(min="4")])
        with recording(q.control_plane) as history:
            proxy.rules.extend(noise())
            for number, seconds in enumerate((15, 20, 40, 90)):
                q.job(f"job-{number}", ("vision", "nlp")[number % 2], "2", run_for=f"{seconds}s")
            wait_for(lambda: all(map(has_started, q.jobs().values())), "all have started", LONG)
            set_clock(clock, -BEHIND)
            q.job("behind", "web", "1", run_for="1s")
            wait_for(lambda: has_started(q.get_job("behind")), "the clock is behind", LONG)
            wait_for(lambda: sum(map(finished, q.jobs().values())) >= 3, "some end meanwhile", SETTLED)
            set_clock(clock, 0)
            q.job("right", "web", "1", run_for="1s")
            wait_for(lambda: all(map(finished, q.jobs().values())), "all end", SETTLED)
        proxy.rules.clear()
        states = [each for each in history.states.values() if each[-1].metadata.labels[GROUP_LABEL] != "web"]
        used = defaultdict[str, int](int)
        for each in states:
            for group in (each[-1].metadata.labels[GROUP_LABEL], "research"):
                used[group] += used_by(each)
        wait_counted(q, {name: end for name, end in last_ends(states).items() if name in used})
        assert {name: amount(q, name) for name in used} == dict(used)
        assert sorted(used) == ["nlp", "research", "vision"]
