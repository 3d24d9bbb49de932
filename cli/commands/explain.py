"""`quotree explain`: why a workload waits, who holds what it waits for, and what would let it start."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import click

from cli.read.live import LiveCluster, cluster_options
from cli.read.names import complete, workloads
from cli.read.options import read_moment
from cli.read.questions import find_group, find_workload, manifests_of, question_options, read_question, read_settings
from cli.read.settings import known_kinds
from cli.render import division_text, explanation_text
from cli.render.data import print_data
from shared.quota.decide.advise.answer import explain_workload
from shared.quota.measure.division_table import division_tables, table_as_data
from shared.quota.measure.snapshot import measure

Output = Literal["text", "json", "yaml"]


@cluster_options
@question_options
@click.command("explain")
@click.argument("workload", shell_complete=complete(workloads))
@click.option(
    "-f", "--filename", "files", multiple=True, type=click.Path(), help="A file or folder instead of the cluster."
)
@click.option("-n", "--namespace", default="default", show_default=True, help="Of a WORKLOAD without a namespace.")
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
def command(
    workload: str, files: tuple[str, ...], namespace: str, output: Output,
    at: str | None, settings_file: str | None, capacity: tuple[str, ...], context: str | None, kubeconfig: str | None,
) -> None:  # fmt: skip
    """Explain WORKLOAD, as NAMESPACE/NAME: what it waits for, who holds that, and what would let it start; of one that
    runs, on which ground, and how it could be lost. For a group, as NAME or qg/NAME: its runtime step by step.

    Without -f the live cluster is read, with your own rights. Every remedy has been tried in the engine: made alone, it
    lets the next cycles start the workload, and no smaller number would.
    """
    cluster = None if files else LiveCluster(context, kubeconfig)
    settings = read_settings(settings_file, capacity, cluster)
    now = read_moment(at)
    world = read_question(manifests_of(files, cluster), settings, kinds=known_kinds(settings_file)).world_at(now)
    group = find_group(world, workload, namespace)
    snapshot = measure(world, now)
    if group is not None:
        tables = [table_as_data(each) for each in division_tables(snapshot, group)]
        _print({"group": group, "division": tables}, output, division_text.lines)
    else:
        data = explain_workload(snapshot, find_workload(world, workload, namespace))
        _print(data, output, explanation_text.lines)


def _print(data: dict[str, Any], output: Output, lines: Callable[[Mapping[str, Any]], Iterator[str]]) -> None:
    if output == "text":
        click.echo("\n".join(lines(data)))
    else:
        print_data(data, output)
