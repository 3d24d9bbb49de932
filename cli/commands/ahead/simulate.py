"""`quotree simulate`: show what would start and stop, decided in memory by the engine of the cluster.

See docs/specification.md §9.5 and §9.6.
"""

import gc
import sys
from datetime import datetime, timedelta
from typing import Any, Final

import click

from cli.read.cluster.live import LiveCluster, live_options
from cli.read.findings import find
from cli.read.options import read_duration, read_moment
from cli.read.questions import Question, ask_leader, manifests_of, read_question, read_settings
from cli.render.data import output_option, print_data
from shared.problems import Problem
from shared.process.cluster_settings import known_kinds
from shared.quota.model.settings import ReclaimMode
from shared.quota.outlook.simulate import run as simulate

LEGAL, ILLEGAL, UNSETTLED = 0, 1, 3
CYCLES: Final = 1000
"""The maximum of cycles until a world must be stable."""


def run(question: Question, at: datetime, cycles: int | None, step: timedelta) -> tuple[dict[str, Any], bool]:
    """Return the complete result as data, and whether the world became stable."""
    outcome = simulate.run(question.world_at(at), at, cycles=cycles, step=step, limit=CYCLES)
    snapshot = outcome.snapshot
    known = (snapshot.capacity, snapshot.largest_nodes)
    found = find(question.objects, question.workloads, question.settings, *known, now=at)
    data = simulate.as_json(outcome)
    data["violations"] = [each.as_data() for each in found.violations]
    data["warnings"] = [each.as_data() for each in found.warnings]
    if question.objects.skipped:
        data["skipped"] = question.objects.skipped
    return data, outcome.settled


@live_options
@click.command("simulate")
@click.option(
    "-f", "--filename", "files", multiple=True, type=click.Path(), help="A file, a folder, or - (standard input)."
)
@click.argument("more", nargs=-1, type=click.Path(), metavar="[FILE]...")
@click.option("--capacity", multiple=True, metavar="FLAVOR:RES=QTY,…", help="Root's capacity for these keys.")
@click.option("--mode", type=click.Choice([each.value for each in ReclaimMode]), help="How borrowed quota comes back.")
@click.option("--cycles", type=click.IntRange(1, CYCLES), help="How many decision cycles to run.  [default: 1]")
@click.option("--until-stable", is_flag=True, help=f"Run until a cycle changes nothing, at most {CYCLES} cycles.")
@click.option("--step", default="0s", show_default=True, help="The time that passes between two cycles, such as 30s.")
@click.option("--at", metavar="TIME", help="When the simulation begins.  [default: now]")
@click.option("--settings", "settings_file", type=click.Path(), metavar="FILE", help="A settings file of Quotree.")
@click.option("--live", is_flag=True, help="Start from the live cluster; files override its objects.")
@output_option("table")
def command(
    files: tuple[str, ...], more: tuple[str, ...], capacity: tuple[str, ...], mode: str | None, cycles: int | None,
    until_stable: bool, step: str, at: str | None, settings_file: str | None, live: bool,
    output: str, cluster: LiveCluster,
) -> None:  # fmt: skip
    """Simulate what would start and stop, for the manifests in the given files.

    Reads QuotaGroup, ResourceFlavor, Node, Job, Pod, PriorityClass, RuntimeClass, LimitRange and Namespace objects, and
    those of governed kinds, from files, from the live cluster (--live), or both. Exit code 0 when they are legal, 1
    when they are not (the answer is printed all the same), 2 when a file cannot be read, 3 when --until-stable gave up.
    """
    if until_stable and cycles is not None:
        raise Problem("--cycles and --until-stable contradict each other; give one of them")
    if not (files or more or live):
        raise Problem("nothing to simulate; name files with -f, or the live cluster with --live")
    source = cluster if live else None
    settings = read_settings(settings_file, capacity, source, ReclaimMode(mode) if mode else None)
    # Tens of thousands of small objects live to the end of the process: garbage collection would only cost time.
    gc.disable()
    question = read_question(
        manifests_of((*files, *more), source),
        settings,
        kinds=known_kinds(settings_file),
        later_wins=live,
        leader=ask_leader(source, settings),
    )
    data, settled = run(question, read_moment(at), None if until_stable else cycles or 1, read_duration(step))
    _print(data, output)
    if until_stable and not settled:
        click.echo(f"quotree: the world did not become stable within {CYCLES} cycles", err=True)
        sys.exit(UNSETTLED)
    sys.exit(ILLEGAL if data["violations"] else LEGAL)


def _print(data: dict[str, Any], output: str) -> None:
    if output != "table":
        print_data(data, output)
        return
    from cli.render.simulate_table import draw

    draw(data)
