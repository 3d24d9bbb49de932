"""The command `quotree-webhook --config FILE`: one replica of the webhook, in or outside the cluster."""

import sys

from shared.process.command import run_command
from shared.process.running import Process
from webhook.settings import Settings


async def _run(process: Process, settings: Settings) -> None:
    from webhook.app import run_webhook

    await run_webhook(process, settings)


def main(arguments: list[str] | None = None) -> int:
    """Run until asked to stop; the process' exit code."""
    return run_command("quotree-webhook", __doc__, Settings, _run, arguments)


if __name__ == "__main__":
    sys.exit(main())
