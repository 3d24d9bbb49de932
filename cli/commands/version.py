"""`quotree version`: print the version of the command line, and of what runs in the cluster."""

from typing import Any, Literal

import click

from cli.read.cluster.live import ClusterProblem, LiveCluster, live_options
from cli.read.cluster.version import client_version, server_versions
from cli.render.data import print_data

SOURCE_TREE = "unknown (a source tree that is not installed)"


@live_options
@click.command("version")
@click.option("--client", is_flag=True, help="Only the version of the command line.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(client: bool, output: Literal["text", "json"], cluster: LiveCluster) -> None:
    """Print the version of the command line and of the Quotree in the cluster.

    Exit code 0 also when the cluster cannot be read; the answer then says why.
    """
    data: dict[str, Any] = {"client": client_version() or SOURCE_TREE}
    if not client:
        try:
            data["server"] = server_versions(cluster)
        except ClusterProblem as problem:
            data |= {"server": {}, "problem": str(problem)}
    if output == "json":
        print_data(data, "json")
        return
    click.echo(f"client: {data['client']}")
    if not client:
        parts = ", ".join(f"{name} {number}" for name, number in sorted(data["server"].items()))
        click.echo(f"server: {parts or data.get('problem', 'no Deployment of Quotree in this cluster')}")
