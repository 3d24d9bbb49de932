"""Complete names from the live cluster: groups, flavors and workloads. A cluster that cannot be read gives none."""

from collections.abc import Callable, Iterator

import click
import msgspec
from click.shell_completion import CompletionItem

from cli.read.live import LiveCluster, NotAllowed
from shared.problems import Problem

Names = Callable[[LiveCluster], Iterator[str]]
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


class _Named(msgspec.Struct):
    name: str
    namespace: str = ""


class _Object(msgspec.Struct):
    metadata: _Named


def groups(cluster: LiveCluster) -> Iterator[str]:
    """Yield the names of all QuotaGroups."""
    yield from _names(cluster, "/apis/quotree.dev/v1alpha1/quotagroups")


def flavors(cluster: LiveCluster) -> Iterator[str]:
    """Yield the names of all ResourceFlavors."""
    yield from _names(cluster, "/apis/quotree.dev/v1alpha1/resourceflavors")


def workloads(cluster: LiveCluster) -> Iterator[str]:
    """Yield NAMESPACE/NAME of every Job that names a group."""
    yield from _names(cluster, "/apis/batch/v1/jobs?labelSelector=quotree.dev%2Fgroup")


def _names(cluster: LiveCluster, path: str) -> Iterator[str]:
    for raw in cluster.items(path):
        found = msgspec.json.decode(raw, type=_Object).metadata
        yield f"{found.namespace}/{found.name}" if found.namespace else found.name


def complete(names: Names) -> Complete:
    """Return the completion of a parameter that takes one of these names."""

    def complete_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        cluster = LiveCluster(ctx.params.get("context"), ctx.params.get("kubeconfig"), ctx.params.get("user"))
        try:
            return [CompletionItem(each) for each in names(cluster) if each.startswith(incomplete)]
        except Problem:
            return []

    return complete_names


def check_group(cluster: LiveCluster, name: str) -> None:
    """Raise Problem when no QuotaGroup has the name; a user who must not list them is believed."""
    try:
        known = name in groups(cluster)
    except NotAllowed:
        return
    if not known:
        raise unknown_group(name)


def unknown_group(name: str) -> Problem:
    """What to say of a name that no QuotaGroup has."""
    return Problem(f"there is no QuotaGroup {name!r}; `kubectl get quotagroups` lists those that exist")
