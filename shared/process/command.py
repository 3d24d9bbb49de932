"""The start of both processes: read `--config FILE`, serve health, connect to the API server.

Any problem with these is one line and an exit code.
"""

import argparse
import sys
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import msgspec

from shared.kube.client import Client
from shared.kube.connect.connection import connected
from shared.problems import Problem
from shared.process.common_settings import ProcessSettings
from shared.process.metrics_server import MetricsAuthorization, serving_metrics
from shared.process.running import Process, run_process
from shared.process.settings import load_settings
from shared.telemetry import configure_logging, request_observer

S = TypeVar("S", bound=ProcessSettings)
_CONNECTION: Final = "connection"


def run_command(
    program: str,
    description: str | None,
    settings_type: type[S],
    run: Callable[[Process, Client, S], Awaitable[None]],
    arguments: list[str] | None = None,
) -> int:
    """Read the settings and run until signalled to stop; return the exit code."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--config", metavar="FILE", help="settings (YAML); without it every setting has its default")
    config = parser.parse_args(arguments).config
    try:
        settings = load_settings(config, settings_type)
    except Problem as problem:
        print(f"{program}: {problem}", file=sys.stderr)
        return problem.exit_code
    configure_logging(settings.log.level, settings.log.form)

    async def main(process: Process) -> None:
        process.health.add_check(_CONNECTION, lambda: "not connected to the API server yet")
        async with connected(settings.connection.settings(program)) as connection:
            client = Client(
                connection,
                concurrency=settings.connection.concurrency,
                timeout=settings.connection.timeout,
                field_manager=program,
                on_request=request_observer(process.registry),
            )
            process.health.add_check(_CONNECTION, lambda: None)
            async with serving_metrics(settings.metrics, process.registry, client):
                await run(process, client, settings)

    health = settings.health
    if settings.metrics.authorization is not MetricsAuthorization.NONE:
        health = msgspec.structs.replace(health, metrics=False)
    return run_process(program, main, health=health, drain=settings.drain)
