"""`quotree tree`: show the live tree, as a table for people or as JSON for programs."""

from typing import Final, Literal

import click

from cli.read.live import LiveCluster, live_options
from cli.read.names import complete, flavors, groups, unknown_group
from cli.render.data import print_data
from cli.render.tree_rows import Filter, as_data, rows
from shared.api.quotagroup import read_quota_group
from shared.quota.model.tree import ROOT

GROUPS_PATH: Final = "/apis/quotree.dev/v1alpha1/quotagroups"


@live_options
@click.command("tree")
@click.argument("group", default=ROOT, shell_complete=complete(groups))
@click.option("--flavor", shell_complete=complete(flavors), help="Only this flavor.")
@click.option("--resource", help="Only this resource.")
@click.option("--depth", type=click.IntRange(min=0), help="Only so many levels below the top.")
@click.option("--busy", is_flag=True, help="Only groups with pending or running workloads.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(
    group: str, flavor: str | None, resource: str | None, depth: int | None, busy: bool,
    output: Literal["table", "json"], cluster: LiveCluster,
) -> None:  # fmt: skip
    """Show the live tree from GROUP (default root) down: min, used, runtime, borrowed, pending."""
    objects = (read_quota_group(raw) for raw in cluster.items(GROUPS_PATH))
    found = {each.metadata.name: each for each in objects}
    if group not in found:
        raise unknown_group(group)
    wanted = Filter(flavor, resource, depth, busy)
    if output == "json":
        print_data(as_data(found, group, wanted), "json")
        return
    from cli.render.tree_table import draw

    draw(rows(found, group, wanted))
