"""Reads the version of this Quotree, and of the one in the cluster."""

from importlib.metadata import PackageNotFoundError, version
from urllib.parse import quote

import msgspec

from cli.read.cluster.live import LiveCluster
from shared.api.names import PROCESS_LABEL

_PATH = f"/apis/apps/v1/deployments?labelSelector={quote(PROCESS_LABEL, safe='')}"
_VERSION = "app.kubernetes.io/version"


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
    return {labels[PROCESS_LABEL]: labels[_VERSION] for labels in found if {PROCESS_LABEL, _VERSION} <= labels.keys()}
