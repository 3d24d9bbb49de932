"""`quotree pending`: what waits, in the order of the queues, and why."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

import click

from cli.commands.tree import GROUPS_PATH
from cli.read.cluster.live import LiveCluster, NotAllowed, live_options
from cli.read.cluster.names import complete, groups, unknown_group
from cli.read.cluster.visibility import read_pending, served_or_computed
from cli.read.options import ListScope, read_moment, scope_options
from cli.read.questions import ask_leader, manifests_of, question_options, read_question, read_settings
from cli.render.listing import ListColumn, ListOutput, list_options
from cli.render.watching import ChangedRows
from cli.render.watching import watch as watch_list
from shared.json_data import Json
from shared.process.cluster_settings import known_kinds
from shared.quota.measure.accounts.run_times import RunTimes
from shared.quota.measure.accounts.written_accounts import run_times_of
from shared.quota.model.read.groups import read_group
from shared.quota.model.tree import ROOT, Tree
from shared.quota.model.workload import namespace_of
from shared.quota.outlook.explain.pending_rows import PendingRow
from shared.quota.outlook.forecast.forecast import forecast_as_data
from shared.quota.outlook.outlook import Outlook
from shared.text.forecast import start_cell
from shared.text.pending import cause_of
from shared.text.quantities import readable

COLUMNS: Final = (
    ListColumn("GROUP", "group", rank=1),
    ListColumn("PLACE", "position", rank=2),
    ListColumn("WORKLOAD", "workload"),
    ListColumn("REASON", "reason"),
    ListColumn("IN", "binding", wide=True),
    ListColumn("FLAVOR", "flavor", wide=True),
    ListColumn("RESOURCE", "resource", wide=True),
    ListColumn("MISSING", "lacks", wide=True),
    ListColumn("STARTS", "starts", wide=True),
    ListColumn("MESSAGE", "why", rank=3, text=True),
)
_GONE: Final = {"reason": "Gone", "message": "", "why": "it no longer waits", "position": 0, "lacks": "", "starts": ""}
"""What a watch shows of a workload that is no longer pending."""


@live_options
@list_options
@scope_options
@question_options
@click.command("pending")
@click.argument("group", default=ROOT, shell_complete=complete(groups))
@click.option(
    "-f", "--filename", "files", multiple=True, type=click.Path(), help="A file or folder instead of the cluster."
)
@click.option("-w", "--watch", is_flag=True, help="Watch, and print each line that changes.")
def command(
    group: str, files: tuple[str, ...], watch: bool, at: str | None, settings_file: str | None,
    capacity: tuple[str, ...], scope: ListScope, shown: ListOutput, cluster: LiveCluster,
) -> None:  # fmt: skip
    """List the workloads that wait in GROUP and below it (default root): group, place in its queue, and why.

    What the next cycle starts is not listed, if a reconciler leads. The visibility API is asked where it is served;
    otherwise the answer is computed from the cluster. Both with your own rights.
    """

    def computed() -> list[Json]:
        source = None if files else cluster
        manifests = manifests_of(files, source)
        settings = read_settings(settings_file, capacity, source)
        leader, kinds, now = ask_leader(source, settings), known_kinds(settings_file), read_moment(at)
        question = read_question(manifests, settings, kinds=kinds, leader=leader)
        outlook = question.outlook_at(now)
        tree = outlook.given.world.tree
        if group not in tree:
            raise unknown_group(group, tree.groups)
        if shown.shown_as in ("table", "name"):
            found = [*rows_of(outlook, group)]
        else:
            found = [*rows_with_forecasts(outlook, group, run_times_of(question.objects.statuses.items()))]
        return [each for each in found if scope.namespace in (None, namespace_of(each["workload"]))]

    def served() -> list[Json]:
        return read_pending(cluster, scope.namespace, _below(cluster, group))

    def listed() -> list[Json]:
        found = served_or_computed(cluster, served, computed)
        if shown.shown_as == "wide" and not any("forecast" in each for each in found):
            # The API has no forecasts at hand yet; who lacks the rights to compute them gets the list without.
            with suppress(NotAllowed):
                return computed()
        return found

    def read() -> list[Json]:
        computes = bool(files or at or settings_file or capacity)
        found = computed() if computes else scope.within_rights(listed, "what waits")
        return [as_shown(each) for each in found if scope.groups.takes(each["group"])]

    if watch and not files:
        watch_list(ChangedRows(read, "workload", _GONE), print_rows, shown)
    print_rows(read(), shown)


def as_shown(row: Json) -> Json:
    """Return the row with the texts of the table: why it waits without its name, and the missing amount."""
    starts = start_cell(row["forecast"]) if row.get("forecast") else ""
    return row | {"why": cause_of(row["message"]), "lacks": _lacks(row), "starts": starts}


def print_rows(rows: Sequence[Json], shown: ListOutput) -> None:
    """Print rows with their texts."""
    whole = [{name: value for name, value in each.items() if name not in ("why", "lacks", "starts")} for each in rows]
    shown.print(rows if shown.is_table else whole, COLUMNS, "workload")


def _lacks(row: Json) -> str:
    """Return the formatted missing amount."""
    return readable(row["resource"], row["missing"]) if row["missing"] else ""


def _below(cluster: LiveCluster, group: str) -> set[str] | None:
    """Return the group and all below it; None: all groups. For a user who cannot read the tree, this group alone."""
    if group == ROOT:
        return None
    try:
        tree = Tree.of(map(read_group, cluster.items(GROUPS_PATH)))
    except NotAllowed:
        return {group}
    if group not in tree:
        raise unknown_group(group, tree.groups)
    return set(tree.subtree(group))


def rows_of(outlook: Outlook, group: str) -> Iterator[Json]:
    """Yield what waits in the group and below it; for root also what waits in no group of the tree."""
    yield from (row.as_data() for row in _rows(outlook, group))


def rows_with_forecasts(outlook: Outlook, group: str, known: RunTimes) -> Iterator[Json]:
    """Yield the same, each with when it will start."""
    rows = [*_rows(outlook, group)]
    found = forecast_as_data(outlook, [row.workload for row in rows], known)
    for row in rows:
        start = found.get(row.workload.id)
        yield row.as_data() | ({} if start is None else {"forecast": start})


def _rows(outlook: Outlook, group: str) -> Iterator[PendingRow]:
    tree = outlook.given.world.tree
    below = set(tree.subtree(group))
    for row in outlook.rows:
        name = row.workload.group
        if name in below or (group == ROOT and name not in tree):
            yield row
