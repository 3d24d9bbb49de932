"""`quotree explain`: why a workload waits, who holds what it waits for, and what would let it start."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

import click
import msgspec

from cli.read.cluster.live import LiveCluster, NotAllowed, NotInCluster, live_options
from cli.read.cluster.names import complete_explained, unknown_group
from cli.read.cluster.visibility import read_explanation, read_group_explanation, served_or_computed
from cli.read.options import namespace_option, read_moment
from cli.read.questions import (
    GROUP_KINDS,
    Question,
    ask_leader,
    find_group,
    find_workload,
    manifests_of,
    parse_workload,
    question_options,
    read_question,
    read_settings,
)
from cli.render.data import output_option, print_data
from cli.render.terminal import width, wrapped
from shared.json_data import Json
from shared.problems import Problem
from shared.process.cluster_settings import known_kinds
from shared.quota.measure.accounts.run_times import RunTimes
from shared.quota.measure.accounts.written_accounts import run_times_of
from shared.quota.measure.division_table import division_tables, table_as_data
from shared.quota.measure.snapshot import measure
from shared.quota.model.workload import Workload
from shared.quota.outlook.forecast.forecast import forecast_as_data
from shared.quota.outlook.outlook import Outlook
from shared.text import division, explanation
from shared.text.accounts.budgets import budget_lines
from shared.text.amendments import timed_text


@live_options
@question_options
@namespace_option
@click.command("explain")
@click.argument("workload", shell_complete=complete_explained)
@click.option(
    "-f", "--filename", "files", multiple=True, type=click.Path(), help="A file or folder instead of the cluster."
)
@click.option("--all", "all_lines", is_flag=True, help="Every holder and remedy on a line of its own.")
@output_option("text")
def command(
    workload: str, files: tuple[str, ...], namespace: str | None, output: str, all_lines: bool,
    at: str | None, settings_file: str | None, capacity: tuple[str, ...], cluster: LiveCluster,
) -> None:  # fmt: skip
    """Explain why WORKLOAD (NAMESPACE/NAME) waits: what it lacks, who holds that, and what would let it start.

    For a workload that runs: whether it runs on borrowed quota, and by which rules it could be evicted. For a group
    (NAME or qg/NAME): its runtime, step by step, and its budgets.

    Without -f the visibility API is asked where it is served; otherwise the answer is computed from the cluster. Both
    with your own rights. Every remedy has been tried in the engine: made alone, it lets the next cycles start the
    workload, and no smaller number would.
    """
    computes = bool(files or at or settings_file or capacity)
    if not namespace:
        namespace = "default" if files or "/" in workload else cluster.namespace

    def computed() -> Json:
        source = None if files else cluster
        manifests = manifests_of(files, source)
        settings = read_settings(settings_file, capacity, source)
        leader, kinds = ask_leader(source, settings), known_kinds(settings_file)
        question = read_question(manifests, settings, kinds=kinds, leader=leader)
        return _computed(question, workload, namespace, read_moment(at))

    def served() -> Json:
        return _served(cluster, workload, namespace)

    data = computed() if computes else served_or_computed(cluster, served, computed)
    if data.get("remediesTried") is False and data["state"] == "Pending":
        click.echo("quotree: what would let it start was not found within the API's time; ask again", err=True)
    if output == "text":
        click.echo("\n".join(wrapped(_lines(data, all_lines=all_lines), width())))
    else:
        print_data(data, output)


def _lines(data: Json, *, all_lines: bool) -> Iterable[str]:
    if "division" in data:
        return (*division.lines(data), *budget_lines(data["budgets"]))
    return explanation.lines(data) if all_lines else explanation.screenful(data)


def _served(cluster: LiveCluster, name: str, namespace: str) -> Json:
    """Return what the visibility API answers: of a workload, or of a group where no workload has the name."""
    head, slash, rest = name.partition("/")
    if slash and head.lower() in GROUP_KINDS:
        return _served_group(cluster, rest, unknown_group(rest))
    kind, key = parse_workload(name, namespace)
    group = "" if slash else f", and no QuotaGroup {name!r}"
    missing = Problem(f"there is no workload {key!r} that names a group{group}")
    try:
        found = read_explanation(cluster, key, kind)
        if found is not None:
            return found
    except NotAllowed as refused:
        missing = refused
    if not slash:
        with suppress(NotAllowed):
            return _served_group(cluster, name, missing)
    raise missing


def _served_group(cluster: LiveCluster, name: str, unknown: Problem) -> Json:
    try:
        return read_group_explanation(cluster, name)
    except NotInCluster as problem:
        raise unknown from problem


def _computed(question: Question, name: str, namespace: str, now: datetime) -> Json:
    world = question.world_at(now)
    group = find_group(world, name, namespace)
    if group is not None:
        tables = division_tables(measure(world, now), group)
        amended = timed_text(world.tree[group], now)
        status = question.objects.statuses.get(group)
        budgets = [] if status is None else msgspec.to_builtins(status.budgets)
        parts = {"division": [table_as_data(each) for each in tables], "budgets": budgets}
        return {"group": group, "amended": amended, **parts}
    outlook, workload = question.outlook_at(now), find_workload(world, name, namespace)
    return outlook.explained(workload) | _forecast(outlook, workload, run_times_of(question.objects.statuses.items()))


def _forecast(outlook: Outlook, workload: Workload, known: RunTimes) -> Json:
    """Return when a workload that waits will start."""
    after = outlook.find(workload.id)
    found = {} if after is None else forecast_as_data(outlook, [after], known)
    return {"forecast": found[workload.id]} if found else {}
