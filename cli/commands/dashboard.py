"""`quotree dashboard`: the tree, queues and explanations in a browser on this machine."""

import asyncio
import logging
from contextlib import suppress

import click

from cli.read.cluster.live import cluster_options
from dashboard.app import DashboardOptions, serve


@cluster_options
@click.command("dashboard")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port on 127.0.0.1.  [default: a free one]")
@click.option("--open", "open_browser", is_flag=True, help="Open the address in your browser.")
@click.option("-n", "--namespace", help="Show workloads of this namespace only.")
@click.option("--settings", "settings_file", metavar="FILE", help="A settings file of Quotree.")
def command(
    port: int,
    namespace: str | None,
    settings_file: str | None,
    context: str | None,
    kubeconfig: str | None,
    *,
    open_browser: bool,
) -> None:
    """Serve the dashboard on 127.0.0.1 until it is interrupted, and print its address.

    It reads the cluster with your own rights and writes nothing. Keep the printed address to yourself: the token in it
    lets its reader see what you see.
    """
    # The page shows refused and interrupted watches; the terminal has only the address.
    logging.getLogger("quotree").addHandler(logging.NullHandler())
    options = DashboardOptions(port, context, kubeconfig, namespace, settings_file, open_browser)
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(options, _say))


def _say(line: str) -> None:
    click.echo(line)
