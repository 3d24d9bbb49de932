"""The command `quotree-reconciler --config FILE`: one replica of the reconciler, in or outside the cluster."""

import sys

from reconciler.settings import ReconcilerSettings
from shared.kube.client import Client
from shared.process.command import run_command
from shared.process.running import Process


async def _run(process: Process, client: Client, settings: ReconcilerSettings) -> None:
    from reconciler.app import Reconciler

    await Reconciler(process, client, settings).run()


def main(arguments: list[str] | None = None) -> int:
    """Run until signalled to stop, and return the exit code."""
    return run_command("quotree-reconciler", __doc__, ReconcilerSettings, _run, arguments)


if __name__ == "__main__":
    sys.exit(main())
