"""Load the quota settings that a command decides by: those of a settings file, of the live cluster, or the defaults."""

import tempfile
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec

from cli.read.live import ClusterProblem, LiveCluster
from shared.quota.model.settings import QuotaSettings

CONFIG_MAPS_OF_CHART: Final = "app.kubernetes.io/name=quotree"
"""The label selector of the chart's ConfigMaps."""
_PATH: Final = f"/api/v1/configmaps?labelSelector={quote(CONFIG_MAPS_OF_CHART, safe='')}"
_KEY: Final = "reconciler.yaml"


def quota_settings(path: str | None) -> QuotaSettings:
    """Return the settings in `path`: its `quota:` part, or the whole file without one.

    None: the defaults, except that no time counts: others may pass a queue's head without end, and a shortage has no
    grace.
    Raises SettingsProblem naming every bad key.
    """
    if path is None:
        return QuotaSettings(queueing_patience=None, loss_grace_period=timedelta())
    from shared.process.quota_settings import QuotaSettingsFile
    from shared.process.settings import load_settings

    return load_settings(path, QuotaSettingsFile, part="quota").settings()


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] = {}


def live_settings(cluster: LiveCluster) -> QuotaSettings | None:
    """Return the settings of the reconciler that runs in the cluster; None where they cannot be read."""
    try:
        return settings_in(cluster.items(_PATH))
    except ClusterProblem:
        return None


def settings_in(config_maps: Iterable[msgspec.Raw]) -> QuotaSettings | None:
    """Return the settings in the chart's ConfigMaps; None where none of them is the reconciler's."""
    found = [msgspec.json.decode(raw, type=_ConfigMap).data for raw in config_maps]
    texts = [data[_KEY] for data in found if _KEY in data]
    if not texts:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _KEY
        file.write_text(texts[0])
        return quota_settings(str(file))
