"""The world that a command computes on: files, the live cluster, or files on top of the live cluster."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeVar

import click

from cli.read.cluster.leader import warn_without_leader
from cli.read.cluster.live import LiveCluster
from cli.read.cluster.live_objects import live_manifests
from cli.read.cluster.names import unknown_group, unknown_workload
from cli.read.cluster.settings import live_settings
from cli.read.cluster.visibility import read_past_use
from cli.read.manifests import Manifest, read_manifests
from cli.read.objects import ManifestObjects, sort_objects
from cli.read.options import read_capacity
from cli.read.workloads import SubmittedWorkloads, read_workloads
from cli.read.world import build_world
from shared.kinds.kind import Kinds
from shared.process.cluster_settings import quota_settings
from shared.quota.measure.accounts.budgets.written import spent_as_shown, used_as_shown
from shared.quota.measure.inputs.world import PastUse, World
from shared.quota.measure.inputs.written_status import read_history, read_over_since
from shared.quota.model.settings import QuotaSettings, ReclaimMode
from shared.quota.model.workload import Workload
from shared.quota.outlook.outlook import Outlook

PAST_USE_IS_OLD: Final = (
    "past use is read from the statuses of the groups, which are minutes old: where it alone decides who comes first, "
    "the reconciler may decide otherwise"
)

GROUP_KINDS: Final = ("qg", "quotagroup", "group")
"""What a name of a group may begin with."""

T = TypeVar("T", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Leader:
    """What the leader of a cluster knows, and whether there is one."""

    past_use: PastUse | None = None
    """The past use of groups; None: only their statuses tell it."""
    gone_since: datetime | None = None
    """When the last one led; None: one leads, or the user cannot know."""


NOT_ASKED: Final = Leader()


@dataclass(frozen=True, slots=True)
class Question:
    """The input of a command: the objects, their workloads, and the engine's world of both."""

    objects: ManifestObjects
    workloads: SubmittedWorkloads
    settings: QuotaSettings
    leader: Leader = NOT_ASKED

    def world_at(self, now: datetime) -> World:
        """Return the engine's world, with what the leader or the statuses of a cluster's groups keep of the past."""
        statuses = self.objects.statuses.items()
        written = read_history(statuses, self.settings.fairness_half_life, now)
        past = written.amounts if self.leader.past_use is None else self.leader.past_use
        world = build_world(self.objects, self.workloads.as_created(now), self.settings, now)
        world = world.with_spent(spent_as_shown(world.tree, statuses, now))
        world = replace(world, budgets_used=used_as_shown(world.spent, statuses))
        return replace(world, past_use=past, requester_use=written.requesters, over_since=read_over_since(statuses))

    def outlook_at(self, now: datetime) -> Outlook:
        """Return what is said of that world."""
        return Outlook.of(self.world_at(now), now, leaderless_since=self.leader.gone_since)


def read_question(
    manifests: Iterable[Manifest],
    settings: QuotaSettings,
    *,
    kinds: Kinds | None = None,
    later_wins: bool = False,
    leader: Leader = NOT_ASKED,
) -> Question:
    """Read the manifests' objects and workloads; `kinds` as for `sort_objects`, `leader` as of `ask_leader`."""
    objects = sort_objects(manifests, kinds=kinds, later_wins=later_wins)
    return Question(objects, read_workloads(objects, settings), settings, leader)


def ask_leader(cluster: LiveCluster | None, settings: QuotaSettings) -> Leader:
    """Return the past use of groups from the cluster's leader, and whether there is one; warn if it does not answer."""
    if cluster is None:
        return NOT_ASKED
    gone_since = warn_without_leader(cluster)
    if not settings.fairness_half_life:
        return Leader(gone_since=gone_since)
    found = read_past_use(cluster)
    if found is None:
        click.echo(f"quotree: {PAST_USE_IS_OLD}", err=True)
    return Leader(found, gone_since)


def read_settings(
    file: str | None, capacity: Iterable[str], cluster: LiveCluster | None = None, mode: ReclaimMode | None = None
) -> QuotaSettings:
    """Return the settings of the file, else of the cluster, else the defaults, overridden by the command line."""
    settings = quota_settings(file) if cluster is None or file is not None else live_settings(cluster).quota
    if settings is None:
        click.echo("quotree: the cluster's settings cannot be read; using the defaults", err=True)
        settings = QuotaSettings()
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
    every = [each for held in world.workload_sets.values() for each in held.by_id.values()]
    found = [each for each in every if each.key == key and kind.lower() in ("", each.kind.lower())]
    if not found:
        raise unknown_workload(key, {each.key for each in every})
    return min(found, key=lambda each: (each.kind != "Job", each.kind))


def find_group(world: World, name: str, namespace: str) -> str | None:
    """Return the group that `name` means: qg/NAME, quotagroup/NAME, or NAME where no workload of `namespace` has it.

    Raises Problem for qg/NAME that does not exist.
    """
    kind, slash, rest = name.partition("/")
    if slash and kind.lower() in GROUP_KINDS:
        if rest not in world.tree:
            raise unknown_group(rest, world.tree.groups)
        return rest
    if slash:
        return None
    key = f"{namespace}/{name}"
    held = (each.key for workloads in world.workload_sets.values() for each in workloads.by_id.values())
    return name if name in world.tree and key not in held else None


def question_options(command: T) -> T:
    """Give a command the options for what it asks about: files, capacity, settings, time, cluster."""
    for option in (
        click.option("--at", metavar="TIME", help="Answer as of this time.  [default: now]"),
        click.option("--settings", "settings_file", metavar="FILE", help="A settings file of Quotree."),
        click.option("--capacity", multiple=True, metavar="FLAVOR:RES=QTY,…", help="Root's capacity for these keys."),
    ):
        command = option(command)
    return command
