"""`quotree kinds`: which kinds are governed, and what a descriptor reads from samples of its kind."""

import sys
from collections.abc import Iterator
from typing import Any, Final, Literal

import click

from cli.read.cluster.live import LiveCluster, live_options
from cli.read.cluster.settings import live_settings
from cli.read.kinds.crd_paths import PathFindings, check_paths
from cli.read.kinds.kind_samples import Sample, descriptors_of, read_descriptors, read_samples
from cli.render.data import print_data
from cli.render.listing import ListColumn, ListOutput, list_options
from shared.kinds.kind import Kind
from shared.kinds.presets import all_presets
from shared.problems import Problem

GOVERNED, NOT_GOVERNED = 0, 1
COLUMNS: Final = (
    ListColumn("KIND", "kind"),
    ListColumn("API VERSION", "apiVersion"),
    ListColumn("HELD BY", "heldBy", rank=1),
    ListColumn("CHILDREN", "childrenText", rank=2),
    ListColumn("OPERATORS", "operatorsText", rank=3, text=True),
)
_BUILT_IN: Final = (
    {"kind": "Job", "apiVersion": "batch/v1", "heldBy": ".spec.suspend", "operators": [], "children": ["Pod"]},
    {"kind": "Pod", "apiVersion": "v1", "heldBy": "scheduling gate", "operators": [], "children": []},
)


@click.group("kinds", invoke_without_command=True)
@click.option(
    "--settings", "settings_file", type=click.Path(), metavar="FILE", help="Of this file, not of the cluster."
)
@click.option("--presets", is_flag=True, help="All that are shipped, not those of the cluster.")
@click.pass_context
def command(
    click_context: click.Context, settings_file: str | None, presets: bool, shown: ListOutput, cluster: LiveCluster
) -> None:
    """List the kinds that are governed: as the settings of the live cluster say, or those of a file.

    `quotree kinds check` shows what a descriptor reads from objects in files, without a cluster.
    """
    if click_context.invoked_subcommand is not None:
        return
    if presets:
        kinds = all_presets()
    elif settings_file is not None:
        kinds = read_descriptors(settings_file)
    else:
        settings = live_settings(cluster)
        kinds = settings.kinds
        if settings.quota is None:
            click.echo("quotree: the cluster's settings cannot be read; kinds that they name are missing", err=True)
    data = [*_BUILT_IN, *map(_listed, kinds.all)]
    shown.print([{**each, **_in_words(each)} for each in data] if shown.is_table else data, COLUMNS, "kind")


live_options(list_options(command))


def _in_words(kind: dict[str, Any]) -> dict[str, str]:
    return {f"{name}Text": ", ".join(kind[name]) for name in ("children", "operators")}


def _listed(kind: Kind) -> dict[str, Any]:
    held = f".{'.'.join(map(str, kind.suspend))}" if kind.suspend else "scheduling gate"
    return {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "heldBy": f"its {kind.through}" if kind.through else held,
        "operators": sorted(kind.operators),
        "children": [each.kind for each in kind.children],
    }


@command.command("check")
@click.argument("file", type=click.Path())
@click.option("-f", "--filename", "samples", multiple=True, type=click.Path(), help="Objects of the kind.")
@click.option(
    "--crd", "definitions", multiple=True, type=click.Path(), help="The kind's definition: are all paths in its schema?"
)
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True)
def check(
    file: str, samples: tuple[str, ...], definitions: tuple[str, ...], output: Literal["text", "json", "yaml"]
) -> None:
    """Show what the descriptors in FILE read from sample objects, and what Quotree would write on these.

    FILE is a settings file with `kinds:`, one descriptor, or the name of a preset. Each sample is started as on flavors
    that have a node label and a taint; what matches nothing there is warned of. With --crd, every path of the
    descriptor is looked up in the schema of the kind's definition. Exit code 0 when every sample can be governed and
    every path is in the schema, 1 when one is not, 2 when something cannot be read.
    """
    if not (samples or definitions):
        raise Problem("there is nothing to check the descriptor with; name objects with -f, or a definition with --crd")
    kinds = descriptors_of(file)
    paths = check_paths(kinds.all, definitions) if definitions else None
    for line in _path_lines(paths) if paths is not None else ():
        click.echo(line, err=output != "text")
    found = read_samples(kinds, samples) if samples else []
    if output != "text":
        print_data({"items": [_sample_data(each) for each in found]}, output)
    else:
        from cli.render.kind_sample import draw_sample

        for sample in found:
            draw_sample(sample)
    is_sound = (paths is None or not paths.dead_ends) and all(each.is_governed for each in found)
    sys.exit(GOVERNED if is_sound else NOT_GOVERNED)


def _path_lines(found: PathFindings) -> Iterator[str]:
    yield from map(str, found.dead_ends)
    yield from (f"{each}: not checked, the schema does not name what may be there" for each in found.unnamed)
    if not found.dead_ends:
        yield f"every {'other ' if found.unnamed else ''}path is in the schema of the definition"


def _sample_data(sample: Sample) -> dict[str, Any]:
    seen = sample.seen
    return {
        "object": sample.name,
        "where": sample.where,
        "governed": sample.is_governed,
        "skipped": seen is not None and seen.skipped,
        "suspended": seen is not None and seen.suspended,
        "noted": seen is not None and seen.noted,
        "stopped": seen is not None and seen.stopped,
        "finished": seen is not None and seen.finished,
        "groups": 1 if seen is None else seen.groups,
        "podSets": [
            {"name": each.name, "pods": each.pods, "requestOfOne": each.one, "request": each.all, "template": each.at}
            for each in sample.sets
        ],
        "problems": list(sample.problems),
        "warnings": list(sample.warnings),
        "refusals": [] if seen is None else list(seen.refusals),
        "hold": list(sample.hold),
        "start": list(sample.start),
        "before": sample.before,
        "held": sample.held,
        "started": sample.started,
    }
