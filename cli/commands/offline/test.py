"""`quotree test`: cases of a quota tree, tried in memory by the engine of the cluster.

See docs/testing.md.
"""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import click

from cli.cases.case_file import CaseFile, read_case_files
from cli.cases.differences import CaseResult, differences
from cli.cases.outcome import CaseSetting, live_through
from cli.read.cluster.live import LiveCluster, live_options
from cli.read.cluster.live_objects import live_manifests
from cli.read.manifests import Manifest, read_manifests
from cli.read.objects import CLUSTER_WIDE
from cli.read.questions import read_settings
from cli.render.data import print_data
from shared.problems import Problem
from shared.process.cluster_settings import known_kinds

PASSED, FAILED = 0, 1
NOW: Final = datetime(2026, 1, 5, 12, tzinfo=UTC)
"""When cases begin, so that each run of a case is the same."""


@live_options
@click.command("test")
@click.argument("paths", nargs=-1, required=True, type=click.Path())
@click.option("--live", is_flag=True, help="Try the live cluster's tree and nodes in place of the files' `tree`.")
@click.option("--settings", "settings_file", type=click.Path(), help="A settings file, in place of that of the cases.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json", "junit", "github"]), default="text", show_default=True
)
def command(paths: tuple[str, ...], live: bool, settings_file: str | None, output: str, cluster: LiveCluster) -> None:
    """Try the cases in PATHS: files, or folders with files named *.test.yaml.

    A case is a tree, a load, and what comes then: edits, new workloads, ends. It says who starts, who is evicted, who
    waits and why, and what is refused. Exit code 0 when all is as expected, 1 when something differs, 2 when a file
    cannot be read or there is no case.
    """
    source = cluster if live else None
    results = [each for file in read_case_files(paths) for each in _tried(file, source, settings_file)]
    if not results:
        raise Problem(f"there is no case in {', '.join(paths)}")
    _print(results, output)
    sys.exit(FAILED if any(each.differences for each in results) else PASSED)


def _tried(file: CaseFile, source: LiveCluster | None, settings_file: str | None) -> Iterator[CaseResult]:
    if source is None and not file.content.tree:
        raise Problem(f"{file.name}: has no tree; name its files under `tree`, or take the cluster's with --live")
    chosen = settings_file or next(iter(file.paths(filter(None, [file.content.settings]))), None)
    capacity = () if source is not None else file.content.capacity
    settings = read_settings(chosen, capacity, source)
    setting = CaseSetting(file, _tree(file, source), settings, known_kinds(chosen))
    for case, line in zip(file.content.cases, file.lines, strict=True):
        found = differences(case.expect, live_through(case, setting, NOW))
        yield CaseResult(file.name, line, case.name, tuple(found))


def _tree(file: CaseFile, source: LiveCluster | None) -> list[Manifest]:
    """Return the tree and what it depends on, without workloads: those of a cluster come and go."""
    if source is None:
        return read_manifests(file.paths(file.content.tree))
    return [each for each in live_manifests(source) if each.kind in {*CLUSTER_WIDE, "LimitRange"}]


def _print(results: list[CaseResult], output: str) -> None:
    from cli.render.case_results import junit, summary, text
    from cli.render.github import annotation

    if output == "text":
        click.echo("\n".join(text(results)))
    elif output == "junit":
        click.echo(junit(results))
    elif output == "json":
        print_data(
            [{"file": e.file, "line": e.line, "name": e.name, "differences": e.differences} for e in results], "json"
        )
    else:
        for each in results:
            for difference in each.differences:
                click.echo(annotation("error", each.file, each.line, each.name, difference))
        click.echo(summary(results), err=True)
