"""`quotree what-if`: what an edit of the tree would start and stop, before it is made."""

import sys
from typing import Any

import click

from cli.read.cluster.live import LiveCluster, NotAllowed, live_options
from cli.read.edits import apply_in_order
from cli.read.findings import find, finding_key
from cli.read.manifests import Manifest, read_manifests
from cli.read.options import read_moment
from cli.read.questions import ask_leader, manifests_of, question_options, read_question, read_settings
from cli.render.data import output_option, print_data
from shared.problems import Problem
from shared.process.cluster_settings import known_kinds
from shared.quota.measure.snapshot import measure
from shared.quota.outlook.simulate.what_if import prediction_as_data

HARMLESS, ILLEGAL, HARMFUL = 0, 1, 4


@live_options
@question_options
@click.command("what-if")
@click.option("-f", "--filename", "edits", multiple=True, required=True, type=click.Path(), help="The edited objects.")
@click.option("--from", "files", multiple=True, type=click.Path(), help="A file or folder instead of the cluster.")
@output_option("text", "markdown")
def command(
    edits: tuple[str, ...], files: tuple[str, ...], output: str, at: str | None, settings_file: str | None,
    capacity: tuple[str, ...], cluster: LiveCluster,
) -> None:  # fmt: skip
    """Show what would start, stop and wait if the objects in the given files were applied, in their order.

    As kubectl does, an object that a rule refuses is left out and those after it are applied.

    Both worlds, with the edit and without it, are decided until nothing changes. Exit code 0 when no workload stops and
    none waits that would have started, 1 when the edit breaks a rule, 2 when something cannot be read, 4 when a
    workload stops or waits because of the edit.
    """
    source = None if files else cluster
    changed = read_manifests(edits)
    if not changed:
        raise Problem("the files hold no object; give the edited QuotaGroups or ResourceFlavors with -f")
    base = _base(files, source)
    settings = read_settings(settings_file, capacity, source)
    kinds = known_kinds(settings_file)
    leader = ask_leader(source, settings)
    before = read_question(base, settings, kinds=kinds, leader=leader)
    now = read_moment(at)
    edit = apply_in_order(before, measure(before.world_at(now), now).capacity, changed, now)
    after = read_question([*base, *edit.accepted], settings, kinds=kinds, later_wins=True, leader=leader)
    snapshot = measure(after.world_at(now), now)
    nodes = snapshot.largest_nodes
    known = {
        finding_key(each) for each in find(before.objects, before.workloads, settings, None, nodes, now=now).violations
    }
    violations = find(after.objects, after.workloads, settings, snapshot.capacity, nodes, now=now).violations
    broken = [*edit.refused, *(each for each in violations if finding_key(each) not in known)]
    found = before.outlook_at(now).prediction(after.world_at(now))
    data = {**prediction_as_data(found), "violations": [each.as_data() for each in broken]}
    _print(data, output)
    sys.exit(ILLEGAL if broken else HARMFUL if found.harms else HARMLESS)


def _base(files: tuple[str, ...], source: LiveCluster | None) -> list[Manifest]:
    try:
        return manifests_of(files, source)
    except NotAllowed as problem:
        other = "`kubectl apply --dry-run=server -f` warns of what stops and starts, by group, where you may edit it"
        raise Problem(f"{problem}; {other} and the visibility API is served") from problem


def _print(data: dict[str, Any], output: str) -> None:
    from shared.text.what_if import lines, markdown

    if output == "text":
        click.echo("\n".join(lines(data)))
    elif output == "markdown":
        click.echo("\n".join(markdown(data)))
    else:
        print_data(data, output)
