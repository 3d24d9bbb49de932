"""A reconciler killed at each step of a start and of an eviction: its successor goes on, nothing is lost or doubled."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.kinds import Asked, Delay, FallSilent, LoseAnswer, Rule
from tests.faults.proxy import FaultProxy, Side
from tests.reconciler.job_history import History, recording
from tests.reconciler.reconciler_process import Quotree, finished, quota, wait_for

pytestmark = pytest.mark.timeout(900)
LONG = 240.0


@pytest.fixture
def proxy(q: Quotree, tmp_path: Path) -> Iterator[FaultProxy]:
    """Between the reconcilers that the test starts and the API server."""
    with FaultProxy(q.control_plane.url, q.control_plane.ca_file).running() as running:
        q.kubeconfig = running.side("first").kubeconfig(q.control_plane.kubeconfig, tmp_path / "first.yaml")
        yield running


def patches_jobs(asked: Asked) -> bool:
    return asked.method == "PATCH" and "/jobs/" in asked.path and asked.client == "first"


def watches_jobs(asked: Asked) -> bool:
    return asked.is_watch and asked.path.endswith("/jobs") and asked.client == "first"


STEPS = {
    "before the write arrives": Rule(Delay(3600, 3600), patches_jobs),
    "after the write, before its answer": Rule(LoseAnswer(), patches_jobs, times=1),
    "after the third write": Rule(LoseAnswer(), patches_jobs, times=3),
    "while the watch of Jobs is silent": Rule(FallSilent(200), watches_jobs),
}


@pytest.fixture(params=STEPS, ids=list(STEPS))
def step(request: pytest.FixtureRequest) -> Rule:
    rule = STEPS[request.param]
    return Rule(rule.fault, rule.when, times=rule.times)


def strike(step: Rule, proxy: FaultProxy) -> None:
    """Wait until the fault is committed; a watch meets it when it is opened again."""
    if isinstance(step.fault, FallSilent):
        proxy.side("first").cut()
    wait_for(lambda: step.committed, "the fault strikes", LONG)


def succeed(q: Quotree, proxy: FaultProxy) -> None:
    """Kill the reconciler; the next one comes by an undisturbed way."""
    q.kill()
    q.release()
    second: Side = proxy.side("second")
    q.kubeconfig = second.kubeconfig(q.control_plane.kubeconfig, q.folder / "second.yaml")
    q.start()


def assert_sound(history: History, cpu: int) -> None:
    assert list(history.wrongs()) == []
    assert history.most_used() <= cpu * 1000


def test_reconciler_killed_during_a_start_recovers(q: Quotree, proxy: FaultProxy, step: Rule) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="4")])
    q.group("vision", quotas=[quota(min="4")])
    with recording(q.control_plane) as history:
        proxy.rules.append(step)
        names = {f"job-{number}" for number in range(8)}
        for name in sorted(names):
            q.job(name, "vision", "1", run_for="1s")
        strike(step, proxy)
        succeed(q, proxy)
        wait_for(lambda: all(finished(job) for job in q.jobs().values()), "all Jobs have finished", LONG)
        wait_for(lambda: all(history.starts().get(name) for name in names), "the recorder has seen all starts", LONG)
        assert history.starts() == dict.fromkeys(names, 1)
    assert_sound(history, 4)


def test_reconciler_killed_during_an_eviction_recovers(q: Quotree, proxy: FaultProxy, step: Rule) -> None:
    q.lead()
    q.group("root", quotas=[quota(max="4")])
    q.group("vision", quotas=[quota(min="2")])
    q.group("nlp", quotas=[quota(min="2")])
    with recording(q.control_plane) as history:
        for number in range(4):
            q.job(f"borrower-{number}", "vision", "1")
        wait_for(lambda: len(q.running()) == 4, "vision uses all", LONG)
        proxy.rules.append(step)
        q.job("lender", "nlp", "2")
        strike(step, proxy)
        succeed(q, proxy)
        wait_for(lambda: "lender" in q.running(), "nlp has its quota", LONG)
        wait_for(lambda: len(q.running()) == 3, "two borrowers go on", LONG)
        wait_for(lambda: history.starts().get("lender") == 1, "the recorder has seen it too", LONG)
        assert sum(history.evictions().values()) == 2
    assert_sound(history, 4)
