"""What the statuses of a cluster's groups keep of the past is part of every answer about the live cluster."""

from datetime import timedelta
from typing import Any

from cli.read.manifests import CLUSTER, Manifest
from cli.read.questions import read_question
from shared.quota.model.settings import QuotaSettings
from shared.resources import FlavorResource
from tests.builders import NOW

KEY = FlavorResource("default", "cpu")


def _group(file: str) -> Manifest:
    quota = {"flavor": "default", "pastUse": {"cpu": "7200"}, "overSince": {"cpu": "2025-12-31T23:00:00Z"}}
    body: dict[str, Any] = {
        "metadata": {"name": "vision"},
        "spec": {"quotas": [{"min": {"cpu": "1"}}]},
        "status": {"quotas": [quota], "pastUseTime": "2025-12-31T23:00:00Z"},
    }
    return Manifest("QuotaGroup", "quotree.dev/v1alpha1", "vision", None, body, file, 1, "")


def test_past_use_and_the_time_over_runtime_are_read_from_the_cluster() -> None:
    settings = QuotaSettings(fairness_half_life=timedelta(hours=1))
    world = read_question([_group(CLUSTER)], settings).world_at(NOW)
    assert world.past_use == {"vision": {KEY: 3_600_000}}
    assert world.over_since == {("vision", KEY): NOW - timedelta(hours=1)}


def test_the_status_in_a_file_says_nothing() -> None:
    world = read_question([_group("tree.yaml")], QuotaSettings()).world_at(NOW)
    assert (world.past_use, world.over_since) == ({}, {})
