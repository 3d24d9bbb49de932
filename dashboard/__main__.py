"""The command `quotree-dashboard --config FILE`: the dashboard in the cluster, behind a proxy that authenticates."""

import sys

from dashboard.in_cluster import serve_in_cluster
from dashboard.settings import DashboardSettings
from shared.process.command import run_command


def main(arguments: list[str] | None = None) -> int:
    """Run until signalled to stop, and return the exit code."""
    return run_command("quotree-dashboard", __doc__, DashboardSettings, serve_in_cluster, arguments)


if __name__ == "__main__":
    sys.exit(main())
