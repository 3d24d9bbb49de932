"""Completion in real shells, and through the real kubectl."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.__main__ import COMMANDS
from cli.completion import answer
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.programs.binaries import Binaries
from tests.cli.live.live_kinds import install_kinds

BIN = Path(sys.executable).parent

GROUP = "apiVersion: quotree.dev/v1alpha1\nkind: QuotaGroup\nmetadata: {name: %s}\nspec: {}\n"
IN_SHELL = {
    "bash": "source <(quotree completion bash); COMP_WORDS=(quotree tr); COMP_CWORD=1; "
    "_quotree_completion quotree; printf '%s\\n' \"${COMPREPLY[@]}\"",
    "zsh": "compdef() { :; }; compadd() { :; }; _describe() { print -l ${(P)3}; }; "
    "source <(quotree completion zsh); words=(quotree tr); CURRENT=2; _quotree_completion",
    "fish": "quotree completion fish | source; complete --do-complete 'quotree tr'",
}


def _run(command: list[str], folder: Path = BIN) -> str:
    environment = {**os.environ, "PATH": f"{folder}:{BIN}:{os.environ['PATH']}"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@pytest.mark.parametrize("shell", IN_SHELL)
def test_each_shell_completes_the_commands(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine")
    assert _run([shell, "-c", IN_SHELL[shell]]).replace(":", " ").split()[0] == "tree"


def test_kubectl_completes_the_commands_of_the_plugin(control_plane_binaries: Binaries) -> None:
    lines = _run([str(control_plane_binaries.kubectl), "__complete", "quotree", ""]).splitlines()
    assert [line.split("\t")[0] for line in lines[: len(COMMANDS)]] == sorted(COMMANDS)
    assert lines[len(COMMANDS)] == ":4"


def test_the_plugin_completes_options_choices_and_files() -> None:
    assert answer(["simulate"], "--unt").splitlines() == [
        "--until-stable\tRun until a cycle changes nothing, at most 1000 cycles.",
        ":4",
    ]
    assert answer(["simulate", "--mode"], "S").splitlines() == ["Strict", ":4"]
    assert answer(["simulate", "-f"], "").splitlines() == [":0"]


def test_groups_are_completed_from_the_live_cluster(control_plane: ControlPlane) -> None:
    install_kinds(control_plane)
    control_plane.apply(GROUP % "completed-one" + "---\n" + GROUP % "completed-two")
    kubectl = [str(control_plane.binaries.kubectl), "__complete", "quotree", "tree"]
    lines = _run(
        [*kubectl, "--kubeconfig", str(control_plane.kubeconfig), "completed-"], control_plane.binaries.kubectl.parent
    )
    assert lines.splitlines()[:3] == ["completed-one", "completed-two", ":4"]


def test_unreachable_cluster_completes_nothing(tmp_path: Path) -> None:
    assert answer(["tree", "--kubeconfig", str(tmp_path / "absent")], "v") == ":4"
