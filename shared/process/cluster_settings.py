"""The settings by which a reader of a cluster decides: of a settings file, the chart's ConfigMaps, or the defaults."""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec

from shared.api.names import PROCESS_LABEL, RECONCILER_LEASE
from shared.kinds.kind import Kinds
from shared.quota.model.settings import QuotaSettings

CONFIG_MAPS_OF_CHART: Final = PROCESS_LABEL
"""The label selector of the chart's ConfigMaps."""
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


class _Election(msgspec.Struct):
    name: str = RECONCILER_LEASE


class _WithElection(msgspec.Struct, rename="camel"):
    leader_election: _Election = msgspec.field(default_factory=_Election)


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """The settings of the reconciler in the cluster."""

    quota: QuotaSettings | None = None
    """None: unreadable."""
    kinds: Kinds = field(default_factory=Kinds)
    """The governed kinds; empty if the settings are unreadable."""
    lease: str = RECONCILER_LEASE
    """The name of the Lease by which the reconciler leads."""

    @property
    def counts_devices(self) -> bool:
        """Whether devices that pods request by ResourceClaims count."""
        return self.quota is not None and self.quota.devices is not None


def settings_in(config_maps: Iterable[msgspec.Raw]) -> LiveSettings:
    """Return the settings in the chart's ConfigMaps, one of which is the reconciler's."""
    found = [msgspec.json.decode(raw, type=_ConfigMap).data for raw in config_maps]
    texts = [data[_KEY] for data in found if _KEY in data]
    return _settings_of(texts[0]) if texts else LiveSettings()


def _settings_of(text: str) -> LiveSettings:
    from shared.process.common_settings import KindsFile
    from shared.process.settings import load_part

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _KEY
        file.write_text(text)
        lease = msgspec.yaml.decode(text, type=_WithElection).leader_election.name
        return LiveSettings(quota_settings(str(file)), load_part(str(file), KindsFile, "kinds").governed, lease)
