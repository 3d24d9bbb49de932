"""Load the quota settings that a command decides by: those of a settings file, of the live cluster, or the defaults."""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from cli.read.live import ClusterProblem, LiveCluster
from shared.kinds.kind import Kinds
from shared.quota.model.settings import QuotaSettings

CONFIG_MAPS_OF_CHART: Final = "app.kubernetes.io/name=quotree"
"""The label selector of the chart's ConfigMaps."""
_PATH: Final = f"/api/v1/configmaps?labelSelector={quote(CONFIG_MAPS_OF_CHART, safe='')}"
_KEY: Final = "reconciler.yaml"

T = TypeVar("T")


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

    return load_settings(path, QuotaSettingsFile, part="quota", beside="kinds").settings()


def known_kinds(path: str | None) -> Kinds | None:
    """Return all shipped kinds and those that the settings in `path` describe; None: the shipped ones alone.

    Raises SettingsProblem naming every bad key.
    """
    if path is None:
        return None
    from shared.kinds.presets import all_presets, compile_kinds
    from shared.process.common_settings import KindsFile
    from shared.process.settings import load_part

    given = load_part(path, KindsFile, "kinds").kinds
    return Kinds.of((*compile_kinds(given).all, *all_presets().all))


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] = {}


def live_settings(cluster: LiveCluster) -> QuotaSettings | None:
    """Return the settings of the reconciler that runs in the cluster; None where they cannot be read."""
    return settings_in(_config_maps(cluster))


def live_kinds(cluster: LiveCluster) -> Kinds:
    """Return the kinds that the cluster's reconciler governs; none where its settings cannot be read."""
    kinds = kinds_in(_config_maps(cluster))
    return Kinds() if kinds is None else kinds


def _config_maps(cluster: LiveCluster) -> Sequence[msgspec.Raw]:
    """The chart's ConfigMaps; none where they cannot be read."""
    try:
        return cluster.items(_PATH)
    except ClusterProblem:
        return ()


def kinds_in(config_maps: Iterable[msgspec.Raw]) -> Kinds | None:
    """Return the kinds that the reconciler of the chart's ConfigMaps governs; None where none of them is its own."""
    from shared.process.common_settings import KindsFile
    from shared.process.settings import load_part

    return _read_settings(config_maps, lambda file: load_part(file, KindsFile, "kinds").governed)


def settings_in(config_maps: Iterable[msgspec.Raw]) -> QuotaSettings | None:
    """Return the settings in the chart's ConfigMaps; None where none of them is the reconciler's."""
    return _read_settings(config_maps, quota_settings)


def _read_settings(config_maps: Iterable[msgspec.Raw], read: Callable[[str], T]) -> T | None:
    """What `read` makes of a file of the reconciler's settings; None where none of the ConfigMaps holds them."""
    found = [msgspec.json.decode(raw, type=_ConfigMap).data for raw in config_maps]
    texts = [data[_KEY] for data in found if _KEY in data]
    if not texts:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _KEY
        file.write_text(texts[0])
        return read(str(file))
