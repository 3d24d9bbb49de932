"""Bodies in flight stay within the budget: what is dropped first, and that reviews are answered beside an attack."""

import asyncio
import resource
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable

import pytest

from tests.webhook.http.test_server import running, still_serves
from webhook.http.body_budget import BodyBudget, BodyInFlight

MEBI = 1 << 20
CHART_LIMIT = 512 * MEBI
IDLE = 128 * MEBI
"""What the chart requests for a webhook that does nothing."""


def counted(dropped: list[str], name: str) -> Callable[[], None]:
    return lambda: dropped.append(name)


def begun(budget: BodyBudget, dropped: list[str], name: str, served: int, size: int) -> BodyInFlight:
    body = budget.begin(served, counted(dropped, name))
    budget.grow(body, size)
    return body


def test_least_served_connection_is_dropped_first_then_the_largest() -> None:
    dropped: list[str] = []
    budget = BodyBudget(limit=100)
    begun(budget, dropped, "served", served=7, size=40)
    begun(budget, dropped, "new and small", served=0, size=10)
    begun(budget, dropped, "new and large", served=0, size=40)
    begun(budget, dropped, "served too", served=7, size=30)
    assert (dropped, budget.total) == (["new and large"], 80)


def test_body_above_the_whole_budget_is_dropped() -> None:
    budget = BodyBudget(limit=100)
    body = budget.begin(0, lambda: pytest.fail("its own connection gets an answer"))
    budget.grow(body, 101)
    assert (body.is_dropped, budget.total) == (True, 0)


def test_complete_body_is_kept_and_counts_until_answered() -> None:
    dropped: list[str] = []
    budget = BodyBudget(limit=100)
    judged = begun(budget, dropped, "judged", served=0, size=90)
    judged.is_complete = True
    late = begun(budget, dropped, "late", served=9, size=20)
    assert (late.is_dropped, dropped, budget.total) == (True, [], 90)
    budget.end(judged)
    budget.end(judged)
    assert budget.total == 0


async def test_120_stalled_bodies_of_8_mib_stay_within_the_memory_budget() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    async with running() as it:
        await still_serves(it)
        command = (sys.executable, "-m", "tests.webhook.http.flood", str(it.port), "120")
        flood = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
        assert flood.stdin is not None
        assert flood.stdout is not None
        async with asyncio.timeout(120):
            assert await flood.stdout.readline() == b"sent\n"
        await still_serves(it)
        flood.stdin.close()
        assert await flood.wait() == 0
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    assert grown < CHART_LIMIT - IDLE
