"""Reads the settings of the live cluster's reconciler, with the user's rights."""

from typing import Final
from urllib.parse import quote

from cli.read.cluster.live import ClusterProblem, LiveCluster
from shared.process.cluster_settings import CONFIG_MAPS_OF_CHART, LiveSettings, settings_in

_PATH: Final = f"/api/v1/configmaps?labelSelector={quote(CONFIG_MAPS_OF_CHART, safe='')}"


def live_settings(cluster: LiveCluster) -> LiveSettings:
    """Read the settings of the cluster's reconciler."""
    try:
        return settings_in(cluster.items(_PATH))
    except ClusterProblem:
        return LiveSettings()
