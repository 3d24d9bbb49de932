"""Reads the version of this Quotree, and of the one in the cluster."""

from importlib.metadata import PackageNotFoundError, version

import msgspec

from cli.read.live import LiveCluster

_PATH = "/apis/apps/v1/deployments?labelSelector=app.kubernetes.io%2Fname%3Dquotree"
_VERSION = "app.kubernetes.io/version"
_COMPONENT = "app.kubernetes.io/component"


def client_version() -> str | None:
    """Return the version of the installed command line; None when it runs from a source tree."""
    try:
        return version("quotree")
    except PackageNotFoundError:
        return None


class _Metadata(msgspec.Struct):
    labels: dict[str, str] = {}


class _Deployment(msgspec.Struct):
    metadata: _Metadata


def server_versions(cluster: LiveCluster) -> dict[str, str]:
    """Return component -> version of what is deployed in the cluster. Raises ClusterProblem."""
    found = (msgspec.json.decode(raw, type=_Deployment).metadata.labels for raw in cluster.items(_PATH))
    return {labels[_COMPONENT]: labels[_VERSION] for labels in found if {_COMPONENT, _VERSION} <= labels.keys()}
