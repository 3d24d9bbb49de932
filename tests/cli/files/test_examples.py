"""The examples are legal, and do what they say."""

from pathlib import Path

from click.testing import CliRunner

from cli.commands.ahead import simulate
from cli.commands.offline import check

EXAMPLES = str(Path(__file__).parents[3] / "examples")


def test_the_examples_break_no_rule() -> None:
    answer = CliRunner().invoke(check.command, [EXAMPLES])
    assert (answer.exit_code, answer.stdout.count("warning: "), "(OpenGroups)" in answer.stdout) == (0, 1, True)


def test_examples_start_in_a_simulation() -> None:
    flags = ["--capacity", "default:cpu=4,default:memory=8Gi", "--until-stable"]
    answer = CliRunner().invoke(simulate.command, ["-f", EXAMPLES, *flags])
    assert answer.exit_code == 0
    assert "start default/large of vision on default" in answer.stdout
    assert "start default/small of language on default" in answer.stdout


def test_pod_that_fits_no_listed_node_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(
        """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec: {quotas: [{min: {cpu: 8}}]}
---
apiVersion: v1
kind: Node
metadata: {name: small}
status: {allocatable: {cpu: "4"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: wide, labels: {quotree.dev/group: vision}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, resources: {requests: {cpu: 6}}}]}}}
"""
    )
    answer = CliRunner().invoke(check.command, [str(tmp_path)])
    assert answer.exit_code == 0
    assert "one pod requests cpu 6; the largest ready node has cpu 4" in answer.stdout
    assert "(NoNodeFits)" in answer.stdout


def test_folder_without_manifests_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n")
    answer = CliRunner().invoke(check.command, [str(tmp_path)])
    assert f"there is nothing to check in {tmp_path}" in str(answer.exception)
    assert CliRunner().invoke(check.command, [str(tmp_path), "--allow-empty"]).exit_code == 0
