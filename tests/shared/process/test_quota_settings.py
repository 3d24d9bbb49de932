"""The quota part of a settings file means what the engine's own settings mean."""

from datetime import timedelta

import msgspec
import pytest

from shared.process.quota_settings import QuotaSettingsFile
from shared.quota.model.devices.resources import DeviceResources
from shared.quota.model.settings import (
    BlockAdmission,
    CapacitySource,
    GroupMaxima,
    LongTermination,
    QueueAge,
    QueueingMaxima,
    QuotaSettings,
    ReclaimMaxima,
    ReclaimMode,
    ReclaimSettings,
    RunTimeMaxima,
    StartupMaxima,
    StartupSettings,
    Uncovered,
    WorkloadPriority,
)


def test_empty_file_gives_the_defaults_of_the_engine() -> None:
    assert QuotaSettingsFile().settings() == QuotaSettings()


def test_every_key_reaches_the_engine() -> None:
    text = b"""{
      "reclaim": {"mode": "Strict", "gracePeriod": "PT5S", "notice": "PT6S", "exemptAfterStart": "PT7S",
                  "claimTimeout": "PT8S", "evictionTimeout": "PT9S", "maxTerminationGracePeriod": "PT10S",
                  "longTermination": "Deny"},
      "startup": {"waitForPodsReady": true, "blockAdmission": "Group", "timeout": "PT1S", "recoveryTimeout": "PT2S",
                  "backoffBase": "PT3S", "backoffMax": "PT4S", "limit": 9},
      "capacity": {"source": "Groups"}, "resources": {"uncovered": "Ignore", "ignored": ["example.com/x"],
                    "devices": {"counted": true, "names": {"gpu.example.com": "example.com/gpu"}}},
      "queueAge": "Creation", "maxDepth": 3, "defaultGroup": true, "priorities": {"lab": ["low"]},
      "gates": [{"name": "scan", "users": ["scanner", "lead"]}],
      "workloadPriorities": [{"name": "low", "value": -1}, {"name": "top", "value": 9, "groups": ["lab"]}],
      "maxima": {"reclaim": {"gracePeriod": "PT11S", "notice": "PT12S", "exemptAfterStart": "PT13S",
                             "claimTimeout": "PT14S"},
                 "startup": {"blockAdmission": "Group", "timeout": "PT15S", "recoveryTimeout": "PT16S"},
                 "queueing": {"patience": "PT7200S"}, "maxRunTime": "PT17S"}}"""
    second = timedelta(seconds=1)
    assert msgspec.json.decode(text, type=QuotaSettingsFile).settings() == QuotaSettings(
        reclaim=ReclaimSettings(
            ReclaimMode.STRICT,
            5 * second,
            6 * second,
            7 * second,
            8 * second,
            9 * second,
            10 * second,
            LongTermination.DENY,
        ),
        startup=StartupSettings(True, BlockAdmission.GROUP, second, 2 * second, 3 * second, 4 * second, 9),
        capacity_source=CapacitySource.GROUPS,
        uncovered=Uncovered.IGNORE,
        ignored_resources=frozenset({"example.com/x"}),
        devices=DeviceResources({"gpu.example.com": "example.com/gpu"}),
        queue_age=QueueAge.CREATION,
        max_depth=3,
        default_group=True,
        priorities={"lab": ("low",)},
        gates={"scan": ("scanner", "lead")},
        workload_priorities={"low": WorkloadPriority(-1), "top": WorkloadPriority(9, ("lab",))},
        maxima=GroupMaxima(
            ReclaimMaxima(11 * second, 12 * second, 13 * second, 14 * second),
            StartupMaxima(BlockAdmission.GROUP, 15 * second, 16 * second),
            QueueingMaxima(7200 * second),
            RunTimeMaxima(17 * second),
        ),
    )


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="gracePeroid"):
        msgspec.json.decode(b'{"reclaim": {"gracePeroid": "PT5S"}}', type=QuotaSettingsFile)


@pytest.mark.parametrize(
    ("gates", "wrong"),
    [
        ('[{"name": "hold.quotree.dev/scan", "users": ["a"]}]', "gates"),
        ('[{"name": "", "users": ["a"]}]', "gates"),
        ('[{"name": "scan", "users": []}]', "gates"),
        ('[{"name": "scan", "users": ["a"]}, {"name": "scan", "users": ["b"]}]', "a name twice"),
    ],
)
def test_hold_gate_has_a_name_without_prefix_and_users_once(gates: str, wrong: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=wrong):
        msgspec.json.decode(f'{{"gates": {gates}}}', type=QuotaSettingsFile)


@pytest.mark.parametrize(
    ("priorities", "wrong"),
    [
        ('[{"name": "a b", "value": 1}]', "workloadPriorities"),
        ('[{"name": "low"}]', "value"),
        ('[{"name": "low", "value": 3000000000}]', "workloadPriorities"),
        ('[{"name": "low", "value": 1}, {"name": "low", "value": 2}]', "a name twice"),
    ],
)
def test_workload_priority_has_a_name_for_a_label_and_one_value(priorities: str, wrong: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=wrong):
        msgspec.json.decode(f'{{"workloadPriorities": {priorities}}}', type=QuotaSettingsFile)


def test_cluster_setting_above_its_maximum_is_refused() -> None:
    text = b'{"reclaim": {"gracePeriod": "PT2M"}, "maxima": {"reclaim": {"gracePeriod": "PT1M"}}}'
    with pytest.raises(msgspec.ValidationError, match=r"reclaim.gracePeriod is more than maxima.reclaim.gracePeriod"):
        msgspec.json.decode(text, type=QuotaSettingsFile)


def test_maximum_of_run_times_lets_workloads_start() -> None:
    with pytest.raises(msgspec.ValidationError, match="maxRunTime is less than 1s"):
        msgspec.json.decode(b'{"maxima": {"maxRunTime": "PT0S"}}', type=QuotaSettingsFile)


def test_device_names_without_counting_change_no_setting() -> None:
    text = b'{"resources": {"devices": {"names": {"gpu.example.com": "example.com/gpu"}}}}'
    assert msgspec.json.decode(text, type=QuotaSettingsFile).settings() == QuotaSettings()


@pytest.mark.parametrize("resource", ["cpu", "", "example.com/", "example.com/g p u"])
def test_devices_count_as_a_resource_with_a_domain_name(resource: str) -> None:
    text = msgspec.json.encode({"resources": {"devices": {"names": {"gpu.example.com": resource}}}})
    with pytest.raises(msgspec.ValidationError, match=r"names\[gpu.example.com\] is no resource with a domain"):
        msgspec.json.decode(text, type=QuotaSettingsFile)
