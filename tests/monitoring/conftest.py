"""Prometheus' own programs, and what the chart says of alerts and the dashboard."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev import prometheus
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.quotree import CHART
from tests.summary import note, write_notes

Rule = dict[str, Any]
VALUES = ("prometheusRule.enabled=true", "grafanaDashboard.enabled=true")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    write_notes(terminalreporter, config)


@pytest.fixture(scope="session")
def programs(pytestconfig: pytest.Config) -> prometheus.Programs:
    """A machine that cannot have them skips all tests of this folder, loudly."""
    found = prometheus.fetch()
    if found is None:
        text = f"!!! SKIPPED: {prometheus.ABSENT}, so no alert was seen to fire"
        note(pytestconfig, text)
        pytest.skip(text)
    return found


def rendered(binaries: Binaries, *settings: str) -> list[Rule]:
    """The objects of the chart with these values."""
    flags = [word for each in (*VALUES, *settings) for word in ("--set", each)]
    command = [str(binaries.helm), "template", "quotree", str(CHART), "-n", "quotree-system", *flags]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [each for each in yaml.safe_load_all(text) if each]


def rules_in(objects: list[Rule]) -> dict[str, Any]:
    """The content of a rule file."""
    (found,) = [each for each in objects if each["kind"] == "PrometheusRule"]
    spec: dict[str, Any] = found["spec"]
    return spec


def dashboard_in(objects: list[Rule]) -> dict[str, Any]:
    """The Grafana dashboard, as its ConfigMap has it."""
    (found,) = [each for each in objects if each["metadata"]["name"] == "quotree-grafana-dashboard"]
    content: dict[str, Any] = json.loads(found["data"]["quotree.json"])
    return content


def write_rules(folder: Path, spec: dict[str, Any]) -> Path:
    """A rule file."""
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump(spec))
    return file
