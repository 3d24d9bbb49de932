"""The chart's values: the settings that they become, their defaults, and those that are refused."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from dev.controlplane.programs.binaries import Binaries
from dev.generate import chart_readme
from reconciler.settings import ReconcilerSettings
from shared.process.metrics_server import MetricsAuthorization, MetricsSettings
from shared.process.settings import load_settings
from shared.quota.model.settings import QuotaSettings, UnlabelledNamespaces
from tests.charts.rendering import CHART, find_object, helm_template, render
from webhook.settings import WebhookSettings


@pytest.mark.parametrize(("component", "settings"), [("webhook", WebhookSettings), ("reconciler", ReconcilerSettings)])
def test_processes_read_the_settings_that_the_chart_writes(
    control_plane_binaries: Binaries, tmp_path: Path, component: str, settings: type[Any]
) -> None:
    flags = ("--set", "quota.reclaim.gracePeriod=30s", "--set", "quota.startup.limit=3")
    written = find_object(render(control_plane_binaries, *flags), "ConfigMap", f"quotree-{component}")["data"]
    file = tmp_path / f"{component}.yaml"
    file.write_text(written[f"{component}.yaml"])
    quota = load_settings(file, settings).quota.settings()
    assert (quota.reclaim.grace_period.total_seconds(), quota.startup.limit) == (30, 3)


def test_documented_defaults_match_the_engine(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    written = find_object(render(control_plane_binaries), "ConfigMap", "quotree-reconciler")["data"]["reconciler.yaml"]
    file = tmp_path / "reconciler.yaml"
    file.write_text(written)
    own = QuotaSettings()
    # A settings file without these keys is of an installation that had no such defaults.
    assert load_settings(file, ReconcilerSettings).quota.settings() == replace(
        own,
        open_groups=False,
        unlabelled_namespaces=UnlabelledNamespaces.DENY,
        reclaim=replace(own.reclaim, max_termination_grace_period=timedelta(minutes=5)),
    )


def test_documented_webhook_defaults_match_its_settings(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    written = find_object(render(control_plane_binaries), "ConfigMap", "quotree-webhook")["data"]["webhook.yaml"]
    file = tmp_path / "webhook.yaml"
    file.write_text(written)
    found = load_settings(file, WebhookSettings)
    assert (found.home, found.reconciler) == (
        "quotree-system",
        "system:serviceaccount:quotree-system:quotree-reconciler",
    )
    assert found.metrics == MetricsSettings(MetricsAuthorization.TOKEN)
    own = WebhookSettings()
    assert msgspec.structs.replace(found, namespace="", reconciler_user="", metrics=own.metrics, quota=own.quota) == own


def test_recording_has_a_volume_and_the_settings_for_it(control_plane_binaries: Binaries, tmp_path: Path) -> None:
    claim = "recording.volume.persistentVolumeClaim.claimName=quotree-recording"
    for flags, volume in (
        ((), {"emptyDir": {}}),
        (("--set", claim), {"persistentVolumeClaim": {"claimName": "quotree-recording"}}),
    ):
        objects = render(control_plane_binaries, "--set", "recording.enabled=true", *flags)
        pod = find_object(objects, "Deployment", "quotree-reconciler")["spec"]["template"]["spec"]
        assert {"name": "recording", **volume} in pod["volumes"]
        (mounted,) = [each for each in pod["containers"][0]["volumeMounts"] if each["name"] == "recording"]
        file = tmp_path / "reconciler.yaml"
        file.write_text(find_object(objects, "ConfigMap", "quotree-reconciler")["data"]["reconciler.yaml"])
        found = load_settings(file, ReconcilerSettings).recording
        assert (found.enabled, found.folder, found.most_bytes) == (True, mounted["mountPath"], 2**30)
        webhook = find_object(objects, "Deployment", "quotree-webhook")["spec"]["template"]["spec"]
        assert "recording" not in str(webhook)


def test_nothing_is_recorded_by_default(control_plane_binaries: Binaries) -> None:
    assert "recording" not in str(find_object(render(control_plane_binaries), "Deployment", "quotree-reconciler"))


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        pytest.param("quota.reclaim.mode=Sometimes", "value must be one of 'OnDemand', 'Strict'", id="unknown word"),
        pytest.param("quota.reclaim.gracePeriod=soon", "at '/quota/reclaim/gracePeriod'", id="no duration"),
        pytest.param("webhoook.replicas=2", "additional properties 'webhoook' not allowed", id="unknown key"),
        pytest.param("webhook.port=0", "at '/webhook/port'", id="no port"),
        pytest.param("recording.maxSize=lots", "at '/recording/maxSize'", id="no size"),
    ],
)
def test_invalid_value_is_refused_with_its_path(control_plane_binaries: Binaries, setting: str, words: str) -> None:
    answer = helm_template(control_plane_binaries, "--set", setting)
    assert answer.returncode != 0
    assert words in answer.stderr


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(["webhook.certificates.source=Given"], "webhook.caBundle is empty", id="no CA"),
        pytest.param(["webhook.deploy=false"], "webhook.url is empty", id="no webhook anywhere"),
        pytest.param(["webhook.edits.budget=10s"], "not less than webhook.quotaTimeoutSeconds, 10s", id="budget"),
        pytest.param(
            ["webhook.edits.budget=7s", "webhook.quotaTimeoutSeconds=6"],
            "webhook.edits.budget is 7s, which is not less than webhook.quotaTimeoutSeconds, 6s",
            id="timeout",
        ),
        pytest.param(["webhook.drain=0.75m"], "webhook.drain is 0.75m", id="drain"),
    ],
)
def test_contradicting_values_are_refused(control_plane_binaries: Binaries, settings: list[str], words: str) -> None:
    answer = helm_template(control_plane_binaries, *(word for each in settings for word in ("--set", each)))
    assert answer.returncode != 0
    assert words in answer.stderr


@pytest.mark.parametrize(
    "settings",
    [
        ["webhook.certificates.source=Given", "webhook.caBundle=YQ=="],
        ["webhook.deploy=false", "webhook.url=https://10.0.0.7:9443"],
        ["webhook.edits.budget=9900ms", "webhook.drain=39.9s"],
        ["webhook.edits.budget=12s", "webhook.quotaTimeoutSeconds=13"],
    ],
)
def test_values_at_the_edge_are_rendered(control_plane_binaries: Binaries, settings: list[str]) -> None:
    assert render(control_plane_binaries, *(word for each in settings for word in ("--set", each)))


def test_the_readme_is_generated_from_the_values() -> None:
    assert chart_readme.README.read_text() == chart_readme.readme(), "run python -m dev.generate.chart_readme"


def test_the_readme_has_every_value() -> None:
    def leaves(value: Any, path: str) -> Iterator[str]:
        if isinstance(value, dict) and value:
            for key, below in value.items():
                yield from leaves(below, f"{path}.{key}" if path else key)
        else:
            yield path

    source = (CHART / "values.yaml").read_text()
    listed = [each.path for each in chart_readme.values(source) if each.default]
    inline = {path for path in leaves(yaml.safe_load(source), "") if path not in listed}
    assert {path for path in inline if not any(path.startswith(f"{each}.") for each in listed)} == set()
