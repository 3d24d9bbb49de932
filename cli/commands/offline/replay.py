"""`quotree replay`: what entered a cluster in the past, lived through under its own tree or another one.

See docs/replay.md.
"""

import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import click

from cli.read.manifests import Manifest, read_manifests
from cli.read.options import read_duration
from cli.read.questions import Question, read_question, read_settings
from cli.render.data import print_data
from cli.render.listing import ListColumn, ListOutput
from cli.render.replay_tables import TITLES, cells, html, markdown, replay_as_data, replayed_as_data
from cli.render.terminal import width
from cli.replay.comparison import compare
from cli.replay.group_rows import replay_rows
from cli.replay.lives import replay
from cli.replay.mapping import LogMapping
from cli.replay.notes import notes_of
from cli.replay.object_logs import files_of, first_line
from cli.replay.past import PastLog
from cli.replay.recorded import read_recorded
from cli.replay.sacct import is_sacct, read_sacct
from cli.replay.table import read_table
from shared.json_data import Json
from shared.kinds.kind import Kinds
from shared.problems import Problem
from shared.process.cluster_settings import known_kinds
from shared.process.settings import load_settings
from shared.quota.model.settings import QuotaSettings
from shared.recording.lines import is_object_log


@click.command("replay")
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=click.Path())
@click.option(
    "-f", "--filename", "files", multiple=True, type=click.Path(), help="The tree in place of the recorded one."
)
@click.option("--mapping", "mapping_file", type=click.Path(), help="How a log of another system is said here.")
@click.option("--capacity", multiple=True, metavar="FLAVOR:RES=QTY,…", help="Root's capacity for these keys.")
@click.option("--settings", "settings_file", type=click.Path(), metavar="FILE", help="A settings file of Quotree.")
@click.option("--gather", help="Changes so close together are decided on together.  [default: as recorded, or else 1s]")
@click.option(
    "-o", "--output", default="table", show_default=True, type=click.Choice(["table", "json", "markdown", "html"])
)
def command(
    logs: tuple[str, ...], files: tuple[str, ...], mapping_file: str | None, capacity: tuple[str, ...],
    settings_file: str | None, gather: str | None, output: str,
) -> None:  # fmt: skip
    """Live through LOG: of `quotree record`, of Slurm's `sacct --parsable2`, or a CSV table with --mapping.

    Logs of `quotree record` and of the reconciler that follow each other are read as one, and so are those in a folder.

    Prints for each group how long its workloads waited, what was used and what was evicted, and how many started
    earlier or later than they did; of a recording under its own tree also how much of it is the same. A workload runs
    as long as it did, and its whole time again after an eviction.
    """
    settings = read_settings(settings_file, capacity)
    mapping = LogMapping() if mapping_file is None else load_settings(mapping_file, LogMapping)
    tree = read_manifests(files) if files else None
    past, question = _read(files_of(logs), mapping, tree, settings, known_kinds(settings_file))
    world = question.world_at(past.begin)
    there = [each.workload for each in past.workloads if each.workload.admission is not None]
    world = world.with_changes((None, each) for each in there)
    progress = _progress(past) if sys.stderr.isatty() else None
    gathered = timedelta() if gather is None and past.decisions else read_duration(gather or "1s")
    replayed = replay(past, world, gathered, progress)
    rows = replay_rows(replayed, world.tree)
    notes = notes_of(past, world, gathered)
    compared = compare(replayed) if past.decisions is not None and tree is None else None
    if compared is not None:
        notes.append(compared.sentence())
    if output == "markdown":
        click.echo(markdown(rows, notes), nl=False)
    elif output == "html":
        click.echo(html(rows, notes), nl=False)
    elif output == "json":
        data: Json = {"begin": past.begin.isoformat(), "end": past.end.isoformat(), "notes": notes}
        if compared is not None:
            data["comparison"] = compared.as_data()
        workloads = [replayed_as_data(each) for each in replayed.workloads]
        print_data({**data, "items": [replay_as_data(row) for row in rows], "workloads": workloads}, "json")
    else:
        columns = [ListColumn(title.upper(), title, rank=place) for place, title in enumerate(TITLES)]
        shown = [dict(zip(TITLES, cells(row), strict=True)) for row in rows]
        ListOutput(width=width()).print(shown, columns, TITLES[0])
        for note in notes:
            click.echo(f"quotree: {note}", err=True)


def _read(
    logs: list[Path], mapping: LogMapping, tree: list[Manifest] | None, settings: QuotaSettings, kinds: Kinds | None
) -> tuple[PastLog, Question]:
    first = first_line(logs[0])
    if len(logs) > 1 or is_object_log(first):
        recorded = read_recorded(logs, settings, kinds, tree)
        return recorded.log, recorded.question
    log = str(logs[0])
    if tree is None:
        raise Problem(f"{log} has no tree: name one with -f")
    question = read_question(tree, settings, kinds=kinds)
    return (read_sacct(log, mapping) if is_sacct(first) else read_table(log, mapping)), question


def _progress(past: PastLog) -> Callable[[datetime], None]:
    """Return what shows how far it is, on one line of standard error."""
    whole = (past.end - past.begin).total_seconds() or 1

    def show(now: datetime) -> None:
        percent = int((now - past.begin).total_seconds() / whole * 100)
        if percent != shown[0]:
            shown[0] = percent
            click.echo(
                f"\rquotree: {percent} % of {past.begin:%Y-%m-%d} to {past.end:%Y-%m-%d}", err=True, nl=percent >= 100
            )

    shown = [-1]
    return show
