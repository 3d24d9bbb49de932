"""Completes names from the live cluster: groups, flavors, namespaces, workloads. An unreadable cluster gives none."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import quote

import click
import msgspec
from click.shell_completion import CompletionItem

from cli.read.cluster.live import LiveCluster, NotAllowed
from shared.problems import Problem

Names = Callable[[LiveCluster], Iterator[str]]
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
_LISTED: Final = 20
"""So many names are listed when one is not known."""
_IN_A_GROUP: Final = "labelSelector=quotree.dev%2Fgroup"


class _Named(msgspec.Struct):
    name: str
    namespace: str = ""


class _Object(msgspec.Struct):
    metadata: _Named


def groups(cluster: LiveCluster) -> Iterator[str]:
    """Yield the names of all QuotaGroups."""
    yield from (each.name for each in _listed(cluster, "/apis/quotree.dev/v1alpha1/quotagroups"))


def flavors(cluster: LiveCluster) -> Iterator[str]:
    """Yield the names of all ResourceFlavors."""
    yield from (each.name for each in _listed(cluster, "/apis/quotree.dev/v1alpha1/resourceflavors"))


def namespaces(cluster: LiveCluster) -> Iterator[str]:
    """Yield the names of all namespaces."""
    yield from (each.name for each in _listed(cluster, "/api/v1/namespaces"))


def _workloads(cluster: LiveCluster, namespace: str | None) -> Iterator[str]:
    """Yield the names of a namespace's Jobs with a group; without a namespace, NAMESPACE/NAME of all.

    A user without the right to list all gets those of the context's namespace.
    """
    if namespace:
        yield from (each.name for each in _jobs(cluster, namespace))
        return
    try:
        found = _listed(cluster, f"/apis/batch/v1/jobs?{_IN_A_GROUP}")
    except NotAllowed:
        found = _jobs(cluster, cluster.namespace)
    yield from (f"{each.namespace}/{each.name}" for each in found)


def _jobs(cluster: LiveCluster, namespace: str) -> list[_Named]:
    return _listed(cluster, f"/apis/batch/v1/namespaces/{quote(namespace)}/jobs?{_IN_A_GROUP}")


def _listed(cluster: LiveCluster, path: str) -> list[_Named]:
    return [msgspec.json.decode(raw, type=_Object).metadata for raw in cluster.items(path)]


def complete(names: Names) -> Complete:
    """Return the completion of a parameter that takes one of these names."""
    return lambda ctx, _, incomplete: _candidates(names, _cluster(ctx), incomplete)


def complete_workloads(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a workload of the namespace that -n names, or of all."""
    return _candidates(lambda cluster: _workloads(cluster, ctx.params.get("namespace")), _cluster(ctx), incomplete)


def complete_explained(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete what can be explained: a workload, or a group."""
    found = [] if "/" in incomplete else _candidates(groups, _cluster(ctx), incomplete)
    return [*complete_workloads(ctx, param, incomplete), *found]


def _cluster(ctx: click.Context) -> LiveCluster:
    return LiveCluster(ctx.params.get("context"), ctx.params.get("kubeconfig"), ctx.params.get("user"))


def _candidates(names: Names, cluster: LiveCluster, incomplete: str) -> list[CompletionItem]:
    try:
        return [CompletionItem(each) for each in names(cluster) if each.startswith(incomplete)]
    except Problem:
        return []


def check_group(cluster: LiveCluster, name: str) -> None:
    """Raise Problem when no QuotaGroup has the name; skipped for a user without the right to list them."""
    try:
        known = [*groups(cluster)]
    except NotAllowed:
        return
    if name not in known:
        raise unknown_group(name, known)


def unknown_group(name: str, known: Iterable[str] = ()) -> Problem:
    """Return the message for a name that no QuotaGroup has; `known`: those that exist, where they are read."""
    every = sorted(known)
    if not every:
        return Problem(f"there is no QuotaGroup {name!r}; `kubectl get quotagroups` lists those that exist")
    return Problem(f"there is no QuotaGroup {name!r}{_others(name, every)}")


def unknown_workload(key: str, known: Iterable[str]) -> Problem:
    """Return the message for NAMESPACE/NAME that no workload has; `known`: those that exist."""
    return Problem(f"there is no workload {key!r} that names a group and has not ended{_others(key, sorted(known))}")


def _others(name: str, every: Sequence[str]) -> str:
    """Return which name was meant, if one is close, and the first of those that exist."""
    close = difflib.get_close_matches(name, every, 1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    more = f" and {len(every) - _LISTED} more" if len(every) > _LISTED else ""
    return f"{meant}; there are {', '.join(every[:_LISTED])}{more}" if every else ""
