"""The world that a command asks about: files, the live cluster, or files on top of the live cluster."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

import click

from cli.read.live import LiveCluster
from cli.read.live_objects import live_manifests
from cli.read.manifests import Manifest, read_manifests
from cli.read.objects import ManifestObjects, sort_objects
from cli.read.options import read_capacity
from cli.read.settings import live_settings, quota_settings
from cli.read.workloads import SubmittedWorkloads, read_workloads
from cli.read.world import build_world
from shared.kinds.kind import Kinds
from shared.problems import Problem
from shared.quota.measure.inputs.world import World
from shared.quota.measure.inputs.written_status import read_history, read_over_since
from shared.quota.model.settings import QuotaSettings, ReclaimMode
from shared.quota.model.workload import Workload

T = TypeVar("T", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Question:
    """What was read: the objects, the workloads in them, and the engine's world of both."""

    objects: ManifestObjects
    workloads: SubmittedWorkloads
    settings: QuotaSettings

    def world_at(self, now: datetime) -> World:
        """Return the engine's world, with what the statuses of a cluster's groups keep of the past."""
        statuses = self.objects.statuses.items()
        history = read_history(statuses, self.settings.fairness_half_life, now)
        world = build_world(self.objects, self.workloads, self.settings, now)
        return replace(world, past_use=history.amounts, over_since=read_over_since(statuses))


def read_question(
    manifests: Iterable[Manifest], settings: QuotaSettings, *, kinds: Kinds | None = None, later_wins: bool = False
) -> Question:
    """Read the manifests' objects and workloads; `kinds` as for `sort_objects`."""
    objects = sort_objects(manifests, kinds=kinds, later_wins=later_wins)
    return Question(objects, read_workloads(objects, settings), settings)


def read_settings(
    file: str | None, capacity: Iterable[str], cluster: LiveCluster | None = None, mode: ReclaimMode | None = None
) -> QuotaSettings:
    """Return the settings of the file, else of the cluster, else the defaults, overridden by the command line."""
    settings = live_settings(cluster).quota if cluster is not None and file is None else None
    if settings is None:
        settings = quota_settings(file)
        if cluster is not None and file is None:
            click.echo("quotree: the cluster's settings cannot be read; using the defaults", err=True)
    if mode is not None:
        settings = replace(settings, reclaim=replace(settings.reclaim, mode=mode))
    return replace(settings, capacity=read_capacity(capacity))


def manifests_of(files: Iterable[str], cluster: LiveCluster | None) -> list[Manifest]:
    """Read the live cluster, if one is given, and the files after it. Raises Problem."""
    return [*(live_manifests(cluster) if cluster is not None else ()), *read_manifests(files)]


def parse_workload(name: str, namespace: str) -> tuple[str, str]:
    """Return (kind or "", namespace/name) of NAMESPACE/NAME, KIND/NAMESPACE/NAME or NAME in `namespace`."""
    kind, _, key = name.partition("/") if name.count("/") == 2 else ("", "", name)
    return kind, key if "/" in key else f"{namespace}/{key}"


def find_workload(world: World, name: str, namespace: str) -> Workload:
    """Return the workload `name`, as NAMESPACE/NAME, KIND/NAMESPACE/NAME or NAME in `namespace`. Raises Problem."""
    kind, key = parse_workload(name, namespace)
    found = [each for held in world.workload_sets.values() for each in held.by_id.values() if each.key == key]
    found = [each for each in found if kind.lower() in ("", each.kind.lower())]
    if not found:
        raise Problem(f"there is no workload {name!r} that names a group; write NAMESPACE/NAME")
    return min(found, key=lambda each: (each.kind != "Job", each.kind))


def find_group(world: World, name: str, namespace: str) -> str | None:
    """Return the group that `name` means: qg/NAME, quotagroup/NAME, or NAME where no workload of `namespace` has it."""
    kind, slash, rest = name.partition("/")
    if slash:
        return rest if kind.lower() in ("qg", "quotagroup", "group") and rest in world.tree else None
    key = f"{namespace}/{name}"
    held = (each.key for workloads in world.workload_sets.values() for each in workloads.by_id.values())
    return name if name in world.tree and key not in held else None


def question_options(command: T) -> T:
    """Give a command the options for what it asks about: files, capacity, settings, time, cluster."""
    for option in (
        click.option("--at", metavar="TIME", help="The time of the question.  [default: now]"),
        click.option("--settings", "settings_file", metavar="FILE", help="A settings file of Quotree."),
        click.option("--capacity", multiple=True, metavar="FLAVOR:RES=QTY,…", help="Root's capacity for these keys."),
    ):
        command = option(command)
    return command
