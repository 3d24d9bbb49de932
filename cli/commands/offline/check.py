"""`quotree check`: every rule of the admission webhook, offline, on a whole repository of manifests at once."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

import click

from cli.read.findings import Placed, counted, ended_overrides, find, place, warn_whole
from cli.read.manifests import read_manifests
from cli.read.objects import ManifestObjects, sort_objects
from cli.read.options import file_arguments, read_moment
from cli.read.workloads import read_workloads
from cli.read.world import nodes_in
from cli.render.data import print_data
from cli.render.github import annotation
from shared.problems import Problem
from shared.process.cluster_settings import known_kinds, quota_settings

LEGAL, ILLEGAL = 0, 1


@click.command("check")
@click.option(
    "--settings", "settings_file", type=click.Path(), help="A settings file of Quotree; its `quota:` part is used."
)
@click.option("--allow-empty", is_flag=True, help="Accept files without any quota object or workload.")
@click.option("--until", metavar="TIME", help="Judge the tree as it is in force until then.  [default: 400 days ahead]")
@click.option("-o", "--output", type=click.Choice(["text", "json", "github"]), default="text", show_default=True)
@file_arguments
def command(
    files: tuple[str, ...], settings_file: str | None, allow_empty: bool, until: str | None,
    output: Literal["text", "json", "github"],
) -> None:  # fmt: skip
    """Check FILES (files, folders, or - for standard input) against every rule, in any order.

    The same functions as in the webhook, with the same codes and sentences. Overrides and windows are judged at every
    moment at which another tree is in force. Exit code 0 when all is legal, 1 when
    something is not, 2 when a file cannot be read, or when there is nothing to check.
    """
    settings = quota_settings(settings_file)
    objects = sort_objects(read_manifests(files), kinds=known_kinds(settings_file))
    if not (allow_empty or objects.problems or any(objects.judged)):
        raise Problem(f"there is nothing to check in {', '.join(files)}: no quota object and no workload")
    now, last = datetime.now(UTC), None if until is None else read_moment(until, "--until")
    if last is not None and last <= now:
        raise Problem(f"--until {until!r} has passed: only moments to come are judged; write one, or leave it out")
    workloads, nodes = read_workloads(objects, settings), nodes_in(objects, settings)
    found = find(objects, workloads, settings, None, nodes, now=now, until=last)
    found += ended_overrides(objects, now) + warn_whole(objects, settings)
    violations = [place(each, objects) for each in found.violations]
    warnings = [place(each, objects) for each in found.warnings]
    {"text": _write_text, "json": _write_json, "github": _write_github}[output](objects, violations, warnings)
    sys.exit(ILLEGAL if violations else LEGAL)


def _write_text(objects: ManifestObjects, violations: Sequence[Placed], warnings: Sequence[Placed]) -> None:
    for placed in violations:
        click.echo(f"{placed.where}{placed.violation.text}")
    for placed in warnings:
        click.echo(f"{placed.where}warning: {placed.violation.text}")
    for line in objects.skipped:
        click.echo(line, err=True)
    click.echo(_summary(objects, violations, warnings), err=True)


def _summary(objects: ManifestObjects, violations: Sequence[Placed], warnings: Sequence[Placed]) -> str:
    checked = f"{counted(objects.groups, 'group')} and {counted(objects.flavors, 'flavor')} checked"
    return f"{checked}: {counted(violations, 'violation')}, {counted(warnings, 'warning')}"


def _write_json(objects: ManifestObjects, violations: Sequence[Placed], warnings: Sequence[Placed]) -> None:
    data = {
        "groups": len(objects.groups),
        "flavors": len(objects.flavors),
        "violations": [placed.as_data() for placed in violations],
        "warnings": [placed.as_data() for placed in warnings],
        "skipped": objects.skipped,
    }
    print_data(data, "json")


def _write_github(objects: ManifestObjects, violations: Sequence[Placed], warnings: Sequence[Placed]) -> None:
    """Print workflow commands, which CI shows beside the lines."""
    for level, found in (("error", violations), ("warning", warnings)):
        for placed in found:
            click.echo(annotation(level, placed.file, placed.line, placed.violation.rule, placed.violation.text))
    click.echo(_summary(objects, violations, warnings), err=True)
