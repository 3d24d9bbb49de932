"""The life of a process: one event loop, one TaskGroup, signals, and a defined exit code.

0: stopped as asked. 1: an unexpected exception, with a logged traceback. A Problem's own code (2): one line on standard
error. On SIGTERM: drain, not ready, the registered stops, then every task is cancelled. A second signal ends at once.
While it drains a process stays ready: it still answers, and if all replicas of a Service are stopping, Kubernetes sends
requests to those that are ready.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NoReturn

from prometheus_client import CollectorRegistry

from shared.problems import Problem
from shared.process.health import Health, HealthSettings, serving_health
from shared.telemetry import escape, new_registry

_log = logging.getLogger("quotree.process")
_GRACE = timedelta(seconds=25)
"""The time limit after the drain. The chart's grace period is longer than both together."""


class _Stop(Exception):
    """Ends the TaskGroup."""


@dataclass(slots=True)
class Process:
    """A running process, as its main function sees it."""

    name: str
    group: asyncio.TaskGroup
    health: Health
    registry: CollectorRegistry
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _stops: list[Callable[[], Awaitable[None]]] = field(default_factory=list)

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run beside main; an exception ends the process."""
        return self.group.create_task(work, name=name)

    def on_stop(self, stop: Callable[[], Awaitable[None]]) -> None:
        """Await this when the process stops, after the drain; in reverse order of registration."""
        self._stops.append(stop)


Main = Callable[[Process], Awaitable[None]]


def run_process(
    name: str,
    main: Main,
    *,
    health: HealthSettings = HealthSettings(),  # noqa: B008 - frozen
    registry: CollectorRegistry | None = None,
    drain: timedelta = timedelta(),
) -> int:
    """Run `main` until it returns or a signal comes; return the exit code."""
    try:
        with asyncio.Runner(loop_factory=fast_loop()) as runner:
            runner.run(_live(name, main, health, registry or new_registry(), drain))
    except Exception as error:
        return _tell_end(name, flatten(error))
    return 0


def _tell_end(name: str, errors: list[Exception]) -> int:
    bugs = [error for error in errors if not isinstance(error, Problem)]
    for bug in bugs:
        _log.critical("process ends: our own bug", exc_info=bug)
    codes = [_say(name, error) for error in errors if isinstance(error, Problem)]
    return 1 if bugs else max(codes)


def flatten(error: Exception) -> list[Exception]:
    """Return the exceptions inside a group, at any depth; of anything else, itself."""
    if not isinstance(error, ExceptionGroup):
        return [error]
    return [leaf for each in error.exceptions for leaf in flatten(each)]


def _say(name: str, problem: Problem) -> int:
    text = "\n".join(escape(line) for line in str(problem).splitlines())
    print(f"{name}: {text}", file=sys.stderr)
    return problem.exit_code


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the fastest event loop that is installed; None: that of asyncio."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _live(name: str, main: Main, settings: HealthSettings, registry: CollectorRegistry, drain: timedelta) -> None:
    health = Health()
    try:
        async with serving_health(settings, health, registry) as port, asyncio.TaskGroup() as group:
            process = Process(name, group, health, registry)
            _install_signals(process)
            _log.info("process started", extra={"program": name, "pid": os.getpid(), "health_port": port})
            group.create_task(_run_main(process, main), name="main")
            group.create_task(_stop_when_asked(process, drain), name="shutdown")
    except* _Stop:
        _log.info("process ended", extra={"program": name})


async def _run_main(process: Process, main: Main) -> None:
    await main(process)
    process.stopping.set()


async def _stop_when_asked(process: Process, drain: timedelta) -> NoReturn:
    await process.stopping.wait()
    _log.info("process stopping", extra={"program": process.name, "drain_seconds": drain.total_seconds()})
    await asyncio.sleep(drain.total_seconds())
    process.health.stopping()
    asyncio.get_running_loop().call_later(_GRACE.total_seconds(), _give_up)
    for stop in reversed(process._stops):
        await stop()
    raise _Stop


def _install_signals(process: Process) -> None:
    loop = asyncio.get_running_loop()

    def ask(number: int) -> None:
        if process.stopping.is_set():
            os._exit(128 + number)
        process.stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ask, number)


def _give_up() -> NoReturn:
    unfinished = sorted(task.get_name() for task in asyncio.all_tasks())
    _log.error("process did not stop in time", extra={"tasks": unfinished})
    os._exit(1)
