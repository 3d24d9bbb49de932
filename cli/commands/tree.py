"""`quotree tree`: show the live tree, as a table for people or as JSON for programs."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

import click

from cli.read.cluster.leader import warn_without_leader
from cli.read.cluster.live import LiveCluster, live_options
from cli.read.cluster.names import complete, flavors, groups, unknown_group
from cli.read.options import read_moment
from cli.render.listing import ListColumn, ListOutput, list_options
from cli.render.tree import tree_at
from cli.render.tree.tree_rows import Filter, Row, as_data, quantity, rows
from shared.api.quotagroup import read_quota_group
from shared.problems import Problem
from shared.quota.model.read.groups import read_group
from shared.quota.model.tree import ROOT, Tree

GROUPS_PATH: Final = "/apis/quotree.dev/v1alpha1/quotagroups"
COLUMNS: Final = (
    ListColumn("GROUP", "name"),
    ListColumn("PENDING", "pending"),
    ListColumn("FLAVOR/RESOURCE", "key"),
    ListColumn("MIN", "min"),
    ListColumn("USED", "used"),
    ListColumn("RUNTIME", "runtime"),
    ListColumn("BORROWED", "borrowed"),
)


@live_options
@list_options
@click.command("tree")
@click.argument("group", default=ROOT, shell_complete=complete(groups))
@click.option("--flavor", shell_complete=complete(flavors), help="Only this flavor.")
@click.option("--resource", help="Only this resource.")
@click.option("--depth", type=click.IntRange(min=0), help="Only so many levels below the top.")
@click.option("--busy", is_flag=True, help="Only groups with pending or running workloads.")
@click.option("--sum", "summed", is_flag=True, help="One line for each resource, the sum over the flavors.")
@click.option("--at", metavar="TIME", help="What groups say at this time: with the overrides and windows open then.")
def command(
    group: str, flavor: str | None, resource: str | None, depth: int | None, busy: bool, summed: bool, at: str | None,
    shown: ListOutput, cluster: LiveCluster,
) -> None:  # fmt: skip
    """Show the live tree from GROUP (default root) down: min, used, runtime, borrowed, pending.

    With --at: min, max and the other numbers in force then, and which override or window says so until when.
    """
    if at is not None:
        if flavor or resource or busy or summed:
            raise Problem("--at shows what groups say; --flavor, --resource, --busy and --sum are about use")
        _show_at(cluster, group, read_moment(at), depth, shown)
        return
    warn_without_leader(cluster)
    objects = (read_quota_group(raw) for raw in cluster.items(GROUPS_PATH))
    found = {each.metadata.name: each for each in objects}
    if group not in found:
        raise unknown_group(group, found)
    wanted = Filter(flavor, resource, depth, busy, summed)
    wanted.check(found.values())
    if shown.shown_as in ("table", "wide") and shown.headers:
        from cli.render.tree.tree_table import draw

        draw(rows(found, group, wanted), None if shown.shown_as == "wide" else shown.width)
    elif shown.shown_as in ("table", "wide"):
        shown.print([*_plain(rows(found, group, wanted))], COLUMNS, "name")
    else:
        shown.print(as_data(found, group, wanted), COLUMNS, "name")


def _show_at(cluster: LiveCluster, top: str, at: datetime, depth: int | None, shown: ListOutput) -> None:
    tree = Tree.of(map(read_group, cluster.items(GROUPS_PATH)))
    if top not in tree:
        raise unknown_group(top, tree.groups)
    if shown.shown_as in ("table", "wide"):
        shown.print([*tree_at.lines(tree, top, at, depth)], tree_at.COLUMNS, "name")
    else:
        shown.print(tree_at.as_data(tree, top, at, depth), tree_at.COLUMNS, "name")


def _plain(found: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """Yield the rows as cells of text, each with the name of its group."""
    name = ""
    for row in found:
        name = row.name or name
        numbers = row.numbers
        texts = (
            {}
            if numbers is None
            else {
                "key": str(numbers.key),
                **{word: quantity(numbers, getattr(numbers, word)) for word in ("min", "used", "runtime", "borrowed")},
            }
        )
        yield {"name": name, "pending": "" if row.pending is None else str(row.pending), **texts}
