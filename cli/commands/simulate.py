"""`quotree simulate`: show what would start and stop, decided in memory by the engine of the cluster.

See docs/specification.md §9.5 and §9.6.
"""

import gc
import sys
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import click
import msgspec

from cli.read.findings import as_data, find
from cli.read.live import LiveCluster, cluster_options
from cli.read.manifests import Manifest, read_manifests
from cli.read.objects import sort_objects
from cli.read.settings import live_settings, quota_settings
from cli.read.workloads import read_workloads
from cli.read.world import build_world
from shared.problems import Problem
from shared.quota.decide.simulate import run as simulate
from shared.quota.model.settings import QuotaSettings, ReclaimMode
from shared.resources import FlavorResource, QuantityError, read_amount

LEGAL, ILLEGAL, UNSETTLED = 0, 1, 3
CYCLES: Final = 1000
"""How many cycles a world may take to become stable."""


def read_capacity(texts: Iterable[str]) -> tuple[tuple[str, str, int], ...]:
    """Read FLAVOR:RESOURCE=QUANTITY,… into (flavor, resource, amount). Raises Problem."""
    found: dict[FlavorResource, int] = {}
    for part in (part.strip() for text in texts for part in text.split(",")):
        key, _, quantity = part.rpartition("=")
        flavor, _, resource = key.partition(":")
        if not (flavor and resource and quantity):
            raise Problem(f"--capacity {part!r} is not FLAVOR:RESOURCE=QUANTITY, such as a100:nvidia.com/gpu=8")
        try:
            amount = read_amount(resource, quantity)
        except QuantityError as error:
            raise Problem(f"--capacity {part!r}: {error}") from error
        if amount < 0:
            raise Problem(f"--capacity {part!r} is negative; a capacity is 0 or more")
        found[FlavorResource(flavor, resource)] = amount
    return tuple((key.flavor, key.resource, amount) for key, amount in found.items())


def read_moment(text: str | None) -> datetime:
    """Return the time at which the simulation starts; now when none is given. Raises Problem."""
    if text is None:
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise Problem(f"--at {text!r} is not a time; write for example 2026-01-31T12:00:00Z") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def settings_of(
    file: str | None, mode: ReclaimMode | None, capacity: tuple[str, ...], cluster: LiveCluster | None = None
) -> QuotaSettings:
    """Return the settings of the file, else of the cluster, else the defaults, overridden by the command line."""
    settings = live_settings(cluster) if cluster is not None and file is None else None
    if settings is None:
        settings = quota_settings(file)
        if cluster is not None and file is None:
            click.echo("quotree: the cluster's settings cannot be read; using the defaults", err=True)
    if mode is not None:
        settings = replace(settings, reclaim=replace(settings.reclaim, mode=mode))
    return replace(settings, capacity=read_capacity(capacity))


def run(manifests: Iterable[Manifest], settings: QuotaSettings, *, at: datetime, cycles: int | None, step: timedelta,
        later_wins: bool) -> tuple[dict[str, Any], bool]:  # fmt: skip
    """Return the whole answer as data, and whether the world became stable."""
    # Tens of thousands of small objects live to the end of the process: searching them for cycles only costs time.
    gc.disable()
    objects = sort_objects(manifests, later_wins=later_wins)
    workloads = read_workloads(objects, settings)
    outcome = simulate.run(build_world(objects, workloads, settings), at, cycles=cycles, step=step, limit=CYCLES)
    found = find(objects, workloads, settings, outcome.snapshot.capacity)
    data = simulate.as_json(outcome)
    data["violations"] = [as_data(each) for each in found.violations]
    data["warnings"] = [as_data(each) for each in found.warnings]
    if objects.skipped:
        data["skipped"] = objects.skipped
    return data, outcome.settled


@cluster_options
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
@click.option("--at", metavar="TIME", help="When it begins.  [default: now]")
@click.option("--settings", "settings_file", type=click.Path(), metavar="FILE", help="A settings file of Quotree.")
@click.option("--live", is_flag=True, help="Start from the live cluster; files override its objects.")
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
def command(
    files: tuple[str, ...], more: tuple[str, ...], capacity: tuple[str, ...], mode: str | None, cycles: int | None,
    until_stable: bool, step: str, at: str | None, settings_file: str | None, live: bool,
    output: Literal["table", "json", "yaml"], context: str | None, kubeconfig: str | None,
) -> None:  # fmt: skip
    """Decide in memory what would start and stop, for the manifests in the given files.

    Reads QuotaGroup, ResourceFlavor, Node, Job, Pod, PriorityClass, RuntimeClass, LimitRange and Namespace objects from
    files, from the live cluster (--live), or both. Exit code 0 when they are legal, 1 when they are not (the answer is
    printed all the same), 2 when a file cannot be read, 3 when --until-stable gave up.
    """
    if until_stable and cycles is not None:
        raise Problem("--cycles and --until-stable contradict each other; give one of them")
    if not (files or more or live):
        raise Problem("nothing to simulate; name files with -f, or the live cluster with --live")
    cluster = LiveCluster(context, kubeconfig) if live else None
    settings = settings_of(settings_file, ReclaimMode(mode) if mode else None, capacity, cluster)
    manifests = [*(_live(cluster) if cluster else ()), *read_manifests((*files, *more))]
    bound = None if until_stable else cycles or 1
    data, settled = run(manifests, settings, at=read_moment(at), cycles=bound, step=_duration(step), later_wins=live)
    _write(data, output)
    if until_stable and not settled:
        click.echo(f"quotree: the world did not become stable within {CYCLES} cycles", err=True)
        sys.exit(UNSETTLED)
    sys.exit(ILLEGAL if data["violations"] else LEGAL)


def _live(cluster: LiveCluster) -> Iterable[Manifest]:
    from cli.read.live_objects import live_manifests

    return live_manifests(cluster)


def _duration(text: str) -> timedelta:
    from shared.api.durations import read_duration

    step = read_duration(text)
    if step is None:
        raise Problem(f"--step {text!r} is not a duration; write for example 30s, 5m or 1h30m")
    return step


def _write(data: dict[str, Any], output: Literal["table", "json", "yaml"]) -> None:
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(data)).decode())
    elif output == "yaml":
        import yaml

        click.echo(yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True), nl=False)
    else:
        from cli.render.simulate_table import draw

        draw(data)
