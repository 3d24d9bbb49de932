"""Presents the live cluster's objects as manifests, so that one reader serves files and cluster."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from cli.read.live import ClusterProblem, LiveCluster, UnknownToCluster
from cli.read.manifests import CLUSTER, Manifest
from cli.read.settings import live_settings
from shared.api.core.resource_claim import RESOURCE_API
from shared.kinds.kind import Kind

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
    """Yield every object that a decision can depend on. Raises ClusterProblem."""
    for api_version, kind, path in _PATHS:
        for raw in cluster.items(path):
            yield _manifest(api_version, kind, raw)
    settings = live_settings(cluster)
    if settings.counts_devices:
        for kind, path in _CLAIMS:
            for raw in items_if_known(cluster, path):
                yield _manifest(RESOURCE_API, kind, raw)
    for governed in settings.kinds.suspended:
        for raw in items_if_known(cluster, governed.path):
            yield _manifest(governed.api_version, governed.kind, raw, governed)


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
