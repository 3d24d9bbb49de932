"""`quotree top`: the groups by their current use; or who has used most of the leaves that are shared in turns."""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import click

from cli.commands.tree import GROUPS_PATH
from cli.read.cluster.live import LiveCluster, live_options
from cli.read.cluster.names import complete, flavors
from cli.render.accounts.requesters import COLUMNS as REQUESTER_COLUMNS
from cli.render.accounts.requesters import requester_rows
from cli.render.listing import ListColumn, ListOutput, list_options
from cli.render.tree.tree_rows import Filter, quantity
from shared.api.quotagroup import QuotaGroup, read_quota_group
from shared.json_data import Json
from shared.quota.model.tree import ROOT
from shared.resources import FlavorResource

COLUMNS: Final = (
    ListColumn("GROUP", "group"),
    ListColumn("FLAVOR/RESOURCE", "key"),
    ListColumn("USED", "usedText"),
    ListColumn("OF ALL", "share", rank=2),
    ListColumn("MIN", "minText", rank=4),
    ListColumn("RUNTIME", "runtimeText", rank=1),
    ListColumn("BORROWED", "borrowedText", rank=3),
    ListColumn("RUNNING", "runningText", rank=6),
    ListColumn("PENDING", "pendingText", rank=5),
)
_PERIOD: Final = 2.0


@live_options
@list_options
@click.command("top")
@click.option("--flavor", shell_complete=complete(flavors), help="Only this flavor.")
@click.option("--resource", help="Only this resource.")
@click.option("--parents", is_flag=True, help="Also list groups that hold groups.")
@click.option("--requesters", is_flag=True, help="List namespaces or users of leaves with such an order instead.")
@click.option("-w", "--watch", is_flag=True, help="Read and print again every two seconds.")
def command(
    flavor: str | None,
    resource: str | None,
    parents: bool,
    requesters: bool,
    watch: bool,
    shown: ListOutput,
    cluster: LiveCluster,
) -> None:
    """List the groups by what they use now, the largest part of all that is there first.

    Read from the status of the QuotaGroups, which the reconciler writes within a second of a change,
    or up to five where many groups change. What requesters have used of late is written about once in five minutes.
    """
    if requesters and (flavor or parents):
        raise click.UsageError("--requesters is over all flavors and of leaves; leave --flavor and --parents out")
    wanted = Filter(flavor, resource)
    while True:
        read = (read_quota_group(raw) for raw in cluster.items(GROUPS_PATH))
        known = {each.metadata.name: each for each in read}
        wanted.check(known.values())
        found = [*(requester_rows(known, resource) if requesters else by_use(known, wanted, parents=parents))]
        if watch and shown.is_table:
            click.clear()
        data = ({name: value for name, value in each.items() if not name.endswith("Text")} for each in found)
        columns = REQUESTER_COLUMNS if requesters else COLUMNS
        shown.print(found if shown.is_table else [*data], columns, "group")
        if not watch:
            return
        time.sleep(_PERIOD)


def by_use(groups: Mapping[str, QuotaGroup], wanted: Filter, *, parents: bool) -> Iterator[Json]:
    """Yield a line for each group and key that is used or promised, the largest part of root's runtime first."""
    root = groups.get(ROOT)
    whole = {each.key: each.runtime for each in wanted.keys(root)} if root is not None else {}
    lines = [line for name, group in groups.items() if name != ROOT for line in _lines(name, group, wanted, whole)]
    inner = {group.spec.parent or ROOT for name, group in groups.items() if name != ROOT}
    kept: Iterable[Json] = (each for each in lines if parents or each["group"] not in inner)
    yield from sorted(kept, key=lambda each: (-each["percent"], -each["used"], each["group"], each["key"]))


def _lines(name: str, group: QuotaGroup, wanted: Filter, whole: Mapping[FlavorResource, int]) -> Iterator[Json]:
    counts = group.status.workloads
    for each in wanted.keys(group):
        total = whole.get(each.key, 0)
        percent = each.used * 100 // total if total else 0
        amounts = {"used": each.used, "min": each.min, "runtime": each.runtime, "borrowed": each.borrowed}
        yield {
            "group": name,
            "key": f"{each.key.flavor}/{each.key.resource}",
            **amounts,
            "percent": percent,
            "share": f"{percent}%",
            "running": counts.admitted,
            "pending": counts.pending,
            "runningText": str(counts.admitted),
            "pendingText": str(counts.pending),
            **{f"{word}Text": quantity(each, amount) for word, amount in amounts.items()},
        }
