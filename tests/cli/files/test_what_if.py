"""`quotree what-if` and `pending`, on files: what an edit changes, and the exit code for CI."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.commands import pending
from cli.commands.ahead import what_if

WAITING = str(Path(__file__).parents[1] / "questions" / "waiting.yaml")
EIGHT = ["--capacity", "default:nvidia.com/gpu=8"]
VISION = """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec: {quotas: [{min: {nvidia.com/gpu: %d}}]}
"""


def _ask(tmp_path: Path, edit: str, output: str = "json") -> Result:
    file = tmp_path / "edit.yaml"
    file.write_text(edit)
    return CliRunner().invoke(what_if.command, ["-f", str(file), "--from", WAITING, *EIGHT, "-o", output])


def test_an_edit_that_starts_one_workload_by_stopping_another(tmp_path: Path) -> None:
    answer = _ask(tmp_path, VISION % 7)
    found: dict[str, Any] = json.loads(answer.stdout)
    assert answer.exit_code == 4
    assert found["start"] == [{"workload": "ns/train-2", "group": "vision"}]
    assert found["stop"] == [
        {
            "workload": "ns/base",
            "group": "nlp",
            "reason": "Reclaimed",
            "rule": "Reclaim",
            "for": "ns/train-2",
            "restarts": False,
        }
    ]
    runtimes = {each["group"]: (each["before"], each["after"]) for each in found["runtime"]}
    assert runtimes["vision"] == (4, 5)
    assert (found["wait"], found["reasons"], found["stable"], found["violations"]) == ([], [], True, [])


OVERRIDDEN = """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec:
  quotas: [{min: {nvidia.com/gpu: 4}}]
  overrides:
  - {from: "2099-01-04T00:00:00Z", until: "2099-01-05T00:00:00Z", quotas: [{min: {nvidia.com/gpu: 7}}]}
"""


@pytest.mark.parametrize(
    ("at", "starts", "refused"),
    [
        ("2099-01-03T23:59:59Z", [], []),
        ("2099-01-04T00:00:00Z", ["ns/train-2"], []),
        ("2099-01-05T00:00:00Z", [], ["OverrideInPast"]),
    ],
)
def test_edit_with_an_override_changes_what_it_says_then(
    tmp_path: Path, at: str, starts: list[str], refused: list[str]
) -> None:
    (tmp_path / "edit.yaml").write_text(OVERRIDDEN)
    words = ["-f", str(tmp_path / "edit.yaml"), "--from", WAITING, *EIGHT, "--at", at, "-o", "json"]
    found = json.loads(CliRunner().invoke(what_if.command, words).stdout)
    assert [each["workload"] for each in found["start"]] == starts
    assert [each["rule"] for each in found["violations"]] == refused


def test_edit_without_effect_predicts_nothing(tmp_path: Path) -> None:
    answer = _ask(tmp_path, VISION % 4, "text")
    assert (answer.exit_code, answer.stdout) == (0, "0 start, 0 stop, 0 wait longer\n")


def test_illegal_edit_is_refused_with_its_rule(tmp_path: Path) -> None:
    answer = _ask(tmp_path, (VISION % 4).replace("]}\n", "], isParent: true}\n"), "text")
    assert answer.exit_code == 1
    assert answer.stdout.splitlines()[-1] == "refused: 1 rule is broken"
    assert "! QuotaGroup/vision spec.isParent" in answer.stdout


RAISED = """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: child}
spec: {parent: above, quotas: [{min: {nvidia.com/gpu: 2}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: above}
spec: {isParent: true, quotas: [{min: {nvidia.com/gpu: 2}}]}
"""


def test_objects_are_applied_in_the_order_of_the_file(tmp_path: Path) -> None:
    parent_last, parent_first = RAISED, "---".join(reversed(RAISED.split("---")))
    base = tmp_path / "base.yaml"
    base.write_text(RAISED.replace("gpu: 2", "gpu: 1"))
    for edit, refused in ((parent_last, 1), (parent_first, 0)):
        file = tmp_path / "edit.yaml"
        file.write_text(edit)
        words = ["-f", str(file), "--from", str(base), *EIGHT, "-o", "json"]
        violations = json.loads(CliRunner().invoke(what_if.command, words).stdout)["violations"]
        assert len(violations) == refused
        assert all("QuotaGroup 'child' comes too early" in each["message"] for each in violations)


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("text", "- stop ns/base of nlp: Reclaimed for ns/train-2"),
        ("text", "~ runtime vision default/nvidia.com/gpu: 4 -> 5"),
        ("markdown", "| stops | `ns/base` of nlp: Reclaimed for `ns/train-2` |"),
        ("markdown", "**1 start, 1 stop, 0 wait longer**"),
    ],
)
def test_text_output_is_a_diff_or_a_table(tmp_path: Path, output: str, line: str) -> None:
    assert line in _ask(tmp_path, VISION % 7, output).stdout.splitlines()


def test_pending_workloads_are_listed_with_their_position() -> None:
    answer = CliRunner().invoke(pending.command, ["-f", WAITING, *EIGHT, "-o", "json"])
    listed = [(each["workload"], each["position"], each["reason"]) for each in json.loads(answer.stdout)["items"]]
    assert listed == [("ns/train-2", 1, "WaitingForQuota")]
    table = CliRunner().invoke(pending.command, ["vision", "-f", WAITING, *EIGHT]).stdout
    assert "group 'root' lacks 3 of default/nvidia.com/gpu" in table
    wide = CliRunner().invoke(pending.command, ["-f", WAITING, *EIGHT, "-o", "wide"]).stdout.splitlines()
    assert [line.split()[2:8] for line in wide] == [
        ["WORKLOAD", "REASON", "IN", "FLAVOR", "RESOURCE", "MISSING"],
        ["ns/train-2", "WaitingForQuota", "root", "default", "nvidia.com/gpu", "3"],
    ]
    none = CliRunner().invoke(pending.command, ["nlp", "-f", WAITING, *EIGHT, "-o", "json"]).stdout
    assert json.loads(none) == {"items": []}
