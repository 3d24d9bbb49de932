"""What the statuses of a cluster's groups keep of the past is part of every answer about the live cluster."""

import json
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from cli.read.cluster.live import LiveCluster, NotServed
from cli.read.cluster.visibility import read_past_use
from cli.read.manifests import CLUSTER, Manifest
from cli.read.questions import PAST_USE_IS_OLD, Leader, ask_leader, read_question
from reconciler.visibility.objects.groups import group_object
from reconciler.visibility.objects.observed import ObservedPlan
from shared.quota.model.settings import QuotaSettings
from shared.quota.outlook.outlook import Outlook
from shared.resources import FlavorResource
from tests.builders import NOW, world

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


def test_status_in_a_manifest_is_ignored() -> None:
    world = read_question([_group("tree.yaml")], QuotaSettings()).world_at(NOW)
    assert (world.past_use, world.over_since) == ({}, {})


PAST = {name: {KEY: 3_600_000_000_000_000_000_001} for name in ("root", "vision")}


@dataclass(frozen=True, slots=True)
class AnsweringCluster(LiveCluster):
    """Answers every question with these groups, or says that it is not served."""

    groups: tuple[dict[str, Any], ...] = field(default=(), kw_only=True)

    def get(self, path: str) -> bytes:
        if not self.groups:
            raise NotServed(path)
        return json.dumps({"items": self.groups}).encode()


def served(*, leads: bool) -> AnsweringCluster:
    """The visibility API of a replica that knows PAST."""
    observed = ObservedPlan(Outlook.of(replace(world("root 8\n  vision 4\n  nlp 4"), past_use=PAST), NOW), leads)
    return AnsweringCluster(groups=tuple(group_object(observed, name) for name in ("root", "vision", "nlp")))


def test_past_use_matches_what_the_leader_serves() -> None:
    past = ask_leader(served(leads=True), QuotaSettings()).past_use
    assert past == {**PAST, "nlp": {}}
    assert read_question([_group(CLUSTER)], QuotaSettings(), leader=Leader(past)).world_at(NOW).past_use == past


def test_follower_serves_past_use_from_the_statuses() -> None:
    assert read_past_use(served(leads=False)) is None


def test_past_use_from_statuses_is_reported_as_old(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask_leader(AnsweringCluster(), QuotaSettings()) == Leader()
    assert capsys.readouterr().err == f"quotree: {PAST_USE_IS_OLD}\n"
    assert ask_leader(AnsweringCluster(), QuotaSettings(fairness_half_life=timedelta())) == Leader()
    assert ask_leader(None, QuotaSettings()) == Leader()
    assert capsys.readouterr().err == ""
