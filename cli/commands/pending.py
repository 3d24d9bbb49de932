"""`quotree pending`: what waits, in the order of the queues, and why."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

import click

from cli.read.live import LiveCluster, cluster_options
from cli.read.names import complete, groups
from cli.read.options import read_moment
from cli.read.questions import manifests_of, question_options, read_question, read_settings
from cli.read.settings import known_kinds
from cli.render.data import print_data
from shared.problems import Problem
from shared.quota.decide.explain.pending_reasons import PendingReasons
from shared.quota.decide.plan import plan
from shared.quota.decide.simulate.json_output import waiting_as_data
from shared.quota.decide.simulate.step import carry_out
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.tree import ROOT


@cluster_options
@question_options
@click.command("pending")
@click.argument("group", default=ROOT, shell_complete=complete(groups))
@click.option(
    "-f", "--filename", "files", multiple=True, type=click.Path(), help="A file or folder instead of the cluster."
)
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
def command(
    group: str, files: tuple[str, ...], output: Literal["table", "json", "yaml"], at: str | None,
    settings_file: str | None, capacity: tuple[str, ...], context: str | None, kubeconfig: str | None,
) -> None:  # fmt: skip
    """List the workloads that wait in GROUP and below it (default root): group, place in its queue, and why.

    What the next cycle starts is not listed.
    """
    cluster = None if files else LiveCluster(context, kubeconfig)
    settings = read_settings(settings_file, capacity, cluster)
    now = read_moment(at)
    world = read_question(manifests_of(files, cluster), settings, kinds=known_kinds(settings_file)).world_at(now)
    if group not in world.tree:
        raise Problem(f"there is no QuotaGroup {group!r}; `kubectl get quotagroups` lists those that exist")
    found = list(_pending(world, group, now))
    if output != "table":
        print_data(found, output)
        return
    from cli.render.pending_table import draw

    draw(found)


def _pending(world: World, group: str, now: datetime) -> Iterator[dict[str, Any]]:
    given = measure(world, now)
    after = measure(carry_out(world, plan(given)), now, given)
    below = set(world.tree.subtree(group))
    place: dict[str, int] = {}
    for each in PendingReasons(plan(after)):
        name = each.workload.group
        is_queued = name in after.leaves and each.workload in after.leaves[name].pending
        place[name] = place.get(name, 0) + is_queued
        if name in below or (group == ROOT and name not in world.tree):
            yield {**waiting_as_data(each), "position": place[name] if is_queued else 0}
