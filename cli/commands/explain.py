"""`quotree explain`: why a workload waits, who holds what it waits for, and what would let it start."""

from datetime import datetime
from typing import Any, Literal

import click

from cli.read.live import LiveCluster, cluster_options
from cli.read.names import complete, workloads
from cli.read.options import read_moment
from cli.read.questions import find_workload, manifests_of, question_options, read_question, read_settings
from cli.render.data import print_data
from shared.quota.decide.advise.json_output import explanation_as_data
from shared.quota.decide.advise.remedies import advise
from shared.quota.decide.explain.explanation import explain
from shared.quota.decide.plan import plan
from shared.quota.decide.simulate.step import carry_out
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure


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
    workload: str, files: tuple[str, ...], namespace: str, output: Literal["text", "json", "yaml"],
    at: str | None, settings_file: str | None, capacity: tuple[str, ...], context: str | None, kubeconfig: str | None,
) -> None:  # fmt: skip
    """Explain WORKLOAD, as NAMESPACE/NAME: what it waits for, who holds that, and what would let it start.

    Without -f the live cluster is read, with your own rights. Every remedy has been tried in the engine: made alone, it
    lets the next cycles start the workload, and no smaller number would.
    """
    cluster = None if files else LiveCluster(context, kubeconfig)
    settings = read_settings(settings_file, capacity, cluster)
    now = read_moment(at)
    world = read_question(manifests_of(files, cluster), settings).world_at(now)
    data = explain_in(world, workload, namespace, now)
    if output == "text":
        from cli.render.explanation_text import lines

        click.echo("\n".join(lines(data)))
    else:
        print_data(data, output)


def explain_in(world: World, name: str, namespace: str, now: datetime) -> dict[str, Any]:
    """Return the explanation as data. What the next cycle would start counts as started, as it would a moment later."""
    given = measure(world, now)
    workload = find_workload(world, name, namespace)
    after = measure(carry_out(world, plan(given)), now, given)
    current = after.world.workloads_of(workload.group).by_id[workload.id]
    explanation = explain(after, plan(after), current)
    return explanation_as_data(explanation, advise(given, explanation))
