"""The quota part of a settings file means what the engine's own settings mean."""

from datetime import timedelta

import msgspec
import pytest

from shared.process.quota_settings import QuotaSettingsFile
from shared.quota.model.settings import (
    BlockAdmission,
    CapacitySource,
    QueueAge,
    QuotaSettings,
    ReclaimMode,
    ReclaimSettings,
    StartupSettings,
    Uncovered,
)


def test_an_empty_file_means_the_engines_defaults() -> None:
    assert QuotaSettingsFile().settings() == QuotaSettings()


def test_every_key_reaches_the_engine() -> None:
    text = b"""{
      "reclaim": {"mode": "Strict", "gracePeriod": "PT5S", "notice": "PT6S", "exemptAfterStart": "PT7S",
                  "claimTimeout": "PT8S", "evictionTimeout": "PT9S"},
      "startup": {"waitForPodsReady": true, "blockAdmission": "Group", "timeout": "PT1S", "recoveryTimeout": "PT2S",
                  "backoffBase": "PT3S", "backoffMax": "PT4S", "limit": 9},
      "capacity": {"source": "Groups"}, "resources": {"uncovered": "Ignore", "ignored": ["example.com/x"]},
      "queueAge": "Creation", "maxDepth": 3, "defaultGroup": true}"""
    second = timedelta(seconds=1)
    assert msgspec.json.decode(text, type=QuotaSettingsFile).settings() == QuotaSettings(
        reclaim=ReclaimSettings(ReclaimMode.STRICT, 5 * second, 6 * second, 7 * second, 8 * second, 9 * second),
        startup=StartupSettings(True, BlockAdmission.GROUP, second, 2 * second, 3 * second, 4 * second, 9),
        capacity_source=CapacitySource.GROUPS,
        uncovered=Uncovered.IGNORE,
        ignored_resources=frozenset({"example.com/x"}),
        queue_age=QueueAge.CREATION,
        max_depth=3,
        default_group=True,
    )


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="gracePeroid"):
        msgspec.json.decode(b'{"reclaim": {"gracePeroid": "PT5S"}}', type=QuotaSettingsFile)
