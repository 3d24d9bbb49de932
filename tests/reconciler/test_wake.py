"""A workload that comes is decided on at once; other changes that follow a cycle, and bursts, are gathered."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from reconciler.wake import Wake


def test_no_cycle_runs_before_a_change() -> None:
    async def ask() -> bool:
        waiting = asyncio.create_task(Wake().wait())
        await asyncio.sleep(0)
        waiting.cancel()
        return waiting.done()

    assert not asyncio.run(ask())


@pytest.mark.parametrize("after_a_cycle", [False, True])
@pytest.mark.parametrize(
    ("change", "waits"),
    [
        pytest.param(lambda wake: wake.observe(workload_comes=True), False, id="a workload comes"),
        pytest.param(lambda wake: wake.request(), False, id="a write has ended"),
        pytest.param(lambda wake: wake.observe(workload_comes=False), True, id="anything else changes"),
    ],
)
def test_changes_after_a_cycle_are_gathered(change: Callable[[Wake], None], waits: bool, after_a_cycle: bool) -> None:
    async def ask() -> bool:
        wake = Wake()
        if after_a_cycle:
            wake.request()
            await wake.wait()
        change(wake)
        waiting = asyncio.create_task(wake.wait())
        await asyncio.sleep(0)
        is_done = waiting.done()
        await waiting
        return not is_done

    assert asyncio.run(ask()) is (waits and after_a_cycle)


@pytest.mark.parametrize(
    ("comes", "took", "pause"),
    [
        pytest.param(False, 3, 3, id="no workload came"),
        pytest.param(True, 3, 50, id="one came"),
        pytest.param(True, 30, 120, id="one came, and cycles are long"),
        pytest.param(True, 400, 250, id="one came, and cycles are very long"),
        pytest.param(False, 400, 250, id="no workload came, and cycles are very long"),
    ],
)
def test_pause_follows_the_duration_of_a_cycle(
    comes: bool, took: int, pause: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = []

    async def sleep(seconds: float) -> None:
        slept.append(round(seconds * 1000))

    async def cycle() -> None:
        wake = Wake()
        wake.observe(workload_comes=comes)
        await wake.wait()
        monkeypatch.setattr(asyncio, "sleep", sleep)
        await wake.pause(timedelta(milliseconds=took))

    asyncio.run(cycle())
    assert slept == [pause]
