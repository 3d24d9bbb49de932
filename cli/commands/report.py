"""`quotree report`: what the groups used in one month."""

from collections.abc import Sequence
from typing import Final

import click

from cli.commands.tree import GROUPS_PATH
from cli.read.cluster.live import LiveCluster, live_options
from cli.read.cluster.names import check_group, complete, groups
from cli.render.accounts.report import as_csv, as_html, as_markdown
from cli.render.data import output_option, print_data
from cli.render.listing import ListColumn, ListOutput
from cli.render.terminal import width
from shared.api.quotagroup import QuotaGroup, read_quota_group
from shared.json_data import Json
from shared.quota.model.read.groups import read_family
from shared.text.accounts.rows import account_rows, chosen_month

COLUMNS: Final = (
    ListColumn("GROUP", "group"),
    ListColumn("NAMESPACE", "namespace", rank=1),
    ListColumn("FLAVOR/RESOURCE", "key"),
    ListColumn("USED", "usedHours"),
    ListColumn("WITHIN MIN", "withinMinHours", rank=4),
    ListColumn("BORROWED", "borrowedHours", rank=2),
    ListColumn("LENT", "lentHours", rank=3),
    ListColumn("LOST", "lostHours", rank=5),
    ListColumn("BUDGET LEFT", "budgetLeft", rank=3),
    ListColumn("OF EXPECTED", "ofExpected", rank=5),
    ListColumn("BORROWED FROM", "borrowedFromHours", rank=7),
    ListColumn("LENT TO", "lentToHours", rank=8),
    ListColumn("UNIT", "unit", rank=6),
)


@live_options
@click.command("report")
@click.option("--period", metavar="YYYY-MM", help="The month; without it the latest of which there are accounts.")
@click.option("-g", "--group", default="", shell_complete=complete(groups), help="Only this group, and those below it.")
@click.option("--namespaces", is_flag=True, help="Also what each namespace used.")
@output_option("table", "csv", "markdown", "html")
def command(period: str | None, group: str, namespaces: bool, output: str, cluster: LiveCluster) -> None:
    """Report what the groups used in one month: within min, borrowed, lent, and lost to evictions; and budgets.

    In hours of cores, of GiB, or of units. CSV and JSON have exact amounts too, in base units times milliseconds.
    Read from the statuses of the QuotaGroups, which are written once a minute while something runs.
    """
    known = [read_quota_group(raw) for raw in cluster.items(GROUPS_PATH)]
    if group:
        check_group(cluster, group)
    month = chosen_month((each.status for each in known), period)
    if not month:
        click.echo(
            "quotree: no group has accounts; the first are written a minute after a workload has started", err=True
        )
    chosen = sorted(_below(known, group), key=lambda each: each.metadata.name)
    among = {each.metadata.name: each.status for each in known}
    statuses = {each.metadata.name: each.status for each in chosen}
    rows = [*account_rows(statuses, month, namespaces=namespaces, among=among, tree=read_family(known))]
    if output == "csv":
        click.echo(as_csv(rows), nl=False)
    elif output == "markdown":
        click.echo(as_markdown(rows), nl=False)
    elif output == "html":
        click.echo(as_html(rows, month), nl=False)
    elif output == "table":
        shown = [{**row, "key": f"{row['flavor']}/{row['resource']}"} for row in rows]
        ListOutput(width=width()).print(shown, COLUMNS, "group")
    else:
        print_data(_document(month, rows), output)


def _document(month: str, rows: Sequence[Json]) -> Json:
    return {"period": month, "items": list(rows)}


def _below(known: Sequence[QuotaGroup], group: str) -> list[QuotaGroup]:
    """Return the group and all below it; all without a group."""
    kept, before = {group}, set[str]()
    while kept != before:
        before = set(kept)
        kept |= {each.metadata.name for each in known if (each.spec.parent or "root") in kept}
    return [each for each in known if not group or each.metadata.name in kept]
