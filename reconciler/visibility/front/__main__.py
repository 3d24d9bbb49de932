"""The process that serves the visibility API; a reconciler starts it, and it ends with the reconciler.

Its arguments are the file descriptor of its channel to the reconciler, and its settings.
"""

import asyncio
import os
import socket
import sys
from typing import Final, NoReturn

import msgspec
from prometheus_client import CollectorRegistry, generate_latest

from reconciler.visibility.copies.asking import Control
from reconciler.visibility.front.app import VisibilityFront
from reconciler.visibility.front.metrics import VisibilityMetrics
from reconciler.visibility.front.settings import FrontSettings
from shared.kube.client import Client
from shared.kube.connect.connection import connected
from shared.problems import Problem
from shared.process.running import fast_loop
from shared.telemetry import configure_logging

PROGRAM: Final = "quotree-reconciler"
_NICENESS: Final = 5
"""When CPU is scarce, the reconciler decides first."""
_PERIOD: Final = 1.0
"""Seconds between two reports of metrics."""


async def _serve(control: Control, settings: FrontSettings) -> None:
    """Return when the reconciler has ended. Raises ConnectionProblem."""
    registry = CollectorRegistry()
    metrics = VisibilityMetrics(registry)
    async with connected(settings.connection.settings(PROGRAM)) as connection:
        client = Client(connection, concurrency=4, timeout=settings.connection.timeout, field_manager=PROGRAM)
        front = VisibilityFront(client, settings.visibility, settings.home, control, metrics)
        tasks = {
            asyncio.create_task(control.wait_for_end(), name="end of the reconciler"),
            asyncio.create_task(front.run(), name="visibility"),
            asyncio.create_task(_report(control, registry), name="report"),
        }
        ended, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in others:
            each.cancel()
        for each in ended:
            each.result()


async def _report(control: Control, registry: CollectorRegistry) -> NoReturn:
    """Send metrics to the reconciler whenever they have changed."""
    told = b""
    while True:
        counted = generate_latest(registry)
        if counted != told and control.tell(counted):
            told = counted
        await asyncio.sleep(_PERIOD)


def main(arguments: list[str]) -> None:
    """Serve until the reconciler ends."""
    settings = msgspec.json.decode(arguments[1], type=FrontSettings)
    configure_logging(settings.log.level, settings.log.form)
    os.nice(_NICENESS)
    way = socket.socket(fileno=int(arguments[0]))
    way.setblocking(False)
    try:
        with asyncio.Runner(loop_factory=fast_loop()) as runner:
            runner.run(_serve(Control(way), settings))
    except Problem as problem:
        sys.exit(f"{PROGRAM}: visibility: {problem}")


if __name__ == "__main__":
    main(sys.argv[1:])
