"""`quotree try`: what it prints of workloads that would start, wait, or be refused, and its exit code."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.commands.ahead import preview
from cli.read.cluster.live import Refused

FILES = Path(__file__).parents[1] / "questions" / "waiting.yaml"
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: tried, namespace: ns, labels: {quotree.dev/group: %s}}
spec: {template: {spec: {containers: [{name: a, resources: {requests: {nvidia.com/gpu: %s}}}]}}}
"""
NO_GROUP = "Job 'ns/tried' metadata.labels[quotree.dev/group]: there is no group nowhere"


def tried(folder: Path, group: str, output: str, gpus: int = 1) -> Result:
    file = folder / "job.yaml"
    file.write_text(JOB % (group, gpus))
    words = ["-f", str(file), "--from", str(FILES), "--capacity", "default:nvidia.com/gpu=20", "-o", output]
    return CliRunner().invoke(preview.command, words)


@pytest.mark.parametrize(
    ("gpus", "starts", "code"), [pytest.param(1, "Now", 0, id="starts"), pytest.param(30, "Never", 4, id="waits")]
)
def test_data_of_a_workload_that_is_tried(tmp_path: Path, gpus: int, starts: str, code: int) -> None:
    answer = tried(tmp_path, "vision", "json", gpus)
    found: dict[str, Any] = json.loads(answer.stdout)
    assert ([each["starts"] for each in found["workloads"]], found["refused"]) == ([starts], [])
    assert answer.exit_code == code


def test_refusal_by_a_rule_is_data(tmp_path: Path) -> None:
    answer = tried(tmp_path, "nowhere", "json")
    found: dict[str, Any] = json.loads(answer.stdout)
    (refused,) = found.pop("refused")
    assert found == {"workloads": [], "warnings": []}
    assert (refused["rule"], refused["field"]) == ("GroupAbsent", "metadata.labels[quotree.dev/group]")
    assert refused["message"].startswith(NO_GROUP)
    assert isinstance(answer.exception, Refused)
    assert answer.exception.exit_code == 1


def test_refusal_in_words(tmp_path: Path) -> None:
    answer = tried(tmp_path, "nowhere", "text")
    assert answer.stdout == ""
    assert str(answer.exception).startswith(f"refused: {NO_GROUP}")


def test_refusal_by_the_cluster_is_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "kubectl"
    program.write_text("#!/bin/sh\necho 'Error: admission webhook \"x\" denied the request: no' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    file = tmp_path / "job.yaml"
    file.write_text(JOB % ("nowhere", 1))
    answer = CliRunner().invoke(preview.command, ["-f", str(file), "-n", "ns", "-o", "json"])
    assert json.loads(answer.stdout) == {"workloads": [], "warnings": [], "refused": [{"message": "no"}]}
    assert isinstance(answer.exception, Refused)
