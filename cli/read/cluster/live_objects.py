"""Presents the live cluster's objects as manifests, so that one reader serves files and cluster."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import msgspec

from cli.read.cluster.live import ClusterProblem, LiveCluster, NotAllowed, UnknownToCluster
from cli.read.cluster.settings import live_settings
from cli.read.manifests import CLUSTER, Manifest
from shared.api.core.resource_claim import RESOURCE_API
from shared.kinds.kind import Kind

CLUSTER_ROLE: Final = "quotree-cluster-view"
"""The role of the chart that allows to list all of this."""
_PATHS: Final = (
    ("quotree.dev/v1alpha1", "QuotaGroup", "/apis/quotree.dev/v1alpha1/quotagroups"),
    ("quotree.dev/v1alpha1", "ResourceFlavor", "/apis/quotree.dev/v1alpha1/resourceflavors"),
    ("v1", "Node", "/api/v1/nodes"),
    ("v1", "Namespace", "/api/v1/namespaces"),
    ("v1", "LimitRange", "/api/v1/limitranges"),
    ("scheduling.k8s.io/v1", "PriorityClass", "/apis/scheduling.k8s.io/v1/priorityclasses"),
    ("node.k8s.io/v1", "RuntimeClass", "/apis/node.k8s.io/v1/runtimeclasses"),
    ("batch/v1", "Job", "/apis/batch/v1/jobs"),
    ("v1", "Pod", "/api/v1/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"),
)

_CLAIMS: Final = (
    ("ResourceClaimTemplate", f"/apis/{RESOURCE_API}/resourceclaimtemplates"),
    ("ResourceClaim", f"/apis/{RESOURCE_API}/resourceclaims"),
)


def live_manifests(cluster: LiveCluster) -> Iterator[Manifest]:
    """Yield every object that a decision can depend on.

    Raises ClusterProblem; NotAllowed with everything that the user cannot list, and the role that allows it.
    """
    refused: list[str] = []
    for api_version, kind, path in _PATHS:
        for raw in _items_if_allowed(cluster.items, path, refused):
            yield _manifest(api_version, kind, raw)
    settings = live_settings(cluster)
    known = partial(items_if_known, cluster)
    if settings.counts_devices:
        for kind, path in _CLAIMS:
            for raw in _items_if_allowed(known, path, refused):
                yield _manifest(RESOURCE_API, kind, raw)
    for governed in settings.kinds.suspended:
        for raw in _items_if_allowed(known, governed.path, refused):
            yield _manifest(governed.api_version, governed.kind, raw, governed)
    if refused:
        role = f"a ClusterRoleBinding to the ClusterRole {CLUSTER_ROLE} allows it"
        raise NotAllowed(f"the answer depends on the whole cluster, and you cannot list {', '.join(refused)}; {role}")


def _items_if_allowed(
    items: Callable[[str], Sequence[msgspec.Raw]], path: str, refused: list[str]
) -> Sequence[msgspec.Raw]:
    """Return the list; empty, and its name added to `refused`, if the user must not read it."""
    try:
        return items(path)
    except NotAllowed:
        *_, group, _, resource = path.partition("?")[0].split("/")
        refused.append(resource if path.startswith("/api/") else f"{resource}.{group}")
        return ()


def items_if_known(cluster: LiveCluster, path: str) -> Sequence[msgspec.Raw]:
    """Return the list; empty if the cluster does not know the kind yet."""
    try:
        return cluster.items(path)
    except UnknownToCluster:
        return ()


def _manifest(api_version: str, kind: str, raw: msgspec.Raw, governed: Kind | None = None) -> Manifest:
    body = msgspec.json.decode(raw)
    if not isinstance(body, dict):
        raise ClusterProblem(f"the API server listed a {kind} that is no object")
    metadata = body.get("metadata", {})
    return Manifest(kind, api_version, metadata["name"], metadata.get("namespace"), body, CLUSTER, 1, "", (), governed)
