"""The command `quotree-webhook --config FILE`: one replica of the webhook, in or outside the cluster."""

import sys

from shared.kube.client import Client
from shared.process.command import run_command
from shared.process.running import Process
from webhook.settings import WebhookSettings


async def _run(process: Process, client: Client, settings: WebhookSettings) -> None:
    from webhook.app import Webhook

    await Webhook(process, client, settings).run()


def main(arguments: list[str] | None = None) -> int:
    """Run until signalled to stop, and return the exit code."""
    return run_command("quotree-webhook", __doc__, WebhookSettings, _run, arguments)


if __name__ == "__main__":
    sys.exit(main())
