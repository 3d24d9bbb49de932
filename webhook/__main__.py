"""The command `quotree-webhook --config FILE`: one replica of the webhook, in or outside the cluster."""

import argparse
import sys

from shared.problems import Problem
from shared.process.running import Process, run_process
from shared.process.settings import load_settings
from shared.telemetry import configure_logging
from webhook.settings import Settings


def main(arguments: list[str] | None = None) -> int:
    """Run until asked to stop; the process' exit code."""
    parser = argparse.ArgumentParser(prog="quotree-webhook", description=__doc__)
    parser.add_argument("--config", metavar="FILE", help="settings (YAML); without it every setting has its default")
    config = parser.parse_args(arguments).config
    try:
        settings = load_settings(config, Settings)
    except Problem as problem:
        print(f"quotree-webhook: {problem}", file=sys.stderr)
        return problem.exit_code
    configure_logging(settings.log.level, settings.log.form)

    async def run(process: Process) -> None:
        from webhook.app import run_webhook

        await run_webhook(process, settings)

    return run_process("quotree-webhook", run, health=settings.health, drain=settings.drain)


if __name__ == "__main__":
    sys.exit(main())
