"""The command line that both processes have: `--config FILE`, one sentence for what is wrong with it, an exit code."""

import argparse
import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

from shared.problems import Problem
from shared.process.common_settings import ProcessSettings
from shared.process.running import Process, run_process
from shared.process.settings import load_settings
from shared.telemetry import configure_logging

S = TypeVar("S", bound=ProcessSettings)


def run_command(
    program: str,
    description: str | None,
    settings_type: type[S],
    run: Callable[[Process, S], Awaitable[None]],
    arguments: list[str] | None = None,
) -> int:
    """Read the settings and run until asked to stop; the process' exit code."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--config", metavar="FILE", help="settings (YAML); without it every setting has its default")
    config = parser.parse_args(arguments).config
    try:
        settings = load_settings(config, settings_type)
    except Problem as problem:
        print(f"{program}: {problem}", file=sys.stderr)
        return problem.exit_code
    configure_logging(settings.log.level, settings.log.form)
    return run_process(program, lambda process: run(process, settings), health=settings.health, drain=settings.drain)
