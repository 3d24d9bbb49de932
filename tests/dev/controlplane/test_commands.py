"""What a person types: the harness by hand, and the script that makes the environment."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dev.controlplane.programs import ROOT, program

VENV = ROOT / "dev" / "controlplane" / "venv.sh"


@pytest.mark.usefixtures("control_plane_binaries")
def test_up_serves_until_interrupted_and_leaves_nothing() -> None:
    command = [sys.executable, "-m", "dev.controlplane", "up", "--nodes", "1"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as up:
        assert up.stdout is not None
        lines = [up.stdout.readline().rstrip() for _ in range(3)]
        kubeconfig = Path(lines[1].removeprefix("export KUBECONFIG="))
        nodes = subprocess.run(
            [*lines[2].split(), f"--kubeconfig={kubeconfig}", "-o", "name"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        up.send_signal(signal.SIGINT)
        lines.append(up.stdout.read().strip())
    assert nodes == "node/node-0\n"
    assert lines[0].startswith("control plane: serving at https://127.0.0.1:")
    assert lines[3] == "control plane: ending"
    assert up.returncode == 0
    assert not kubeconfig.parent.exists()


def make_venv(folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    (folder / "requirements.lock").touch()
    (folder / "pyproject.toml").touch()
    return subprocess.run(["bash", VENV, python], cwd=folder, capture_output=True, text=True, check=False)


def test_missing_python_is_reported(tmp_path: Path) -> None:
    done = make_venv(tmp_path, "python-that-is-not-there")
    assert (done.returncode, done.stderr) == (
        1,
        "quotree: no python-that-is-not-there here: install Python 3.11 or later, or name one with make PYTHON=...\n",
    )


def test_too_old_python_is_reported(tmp_path: Path) -> None:
    old = program(tmp_path / "old-python", 'case "$2" in *print*) echo 3.9 ;; *) exit 1 ;; esac')
    done = make_venv(tmp_path, str(old))
    assert done.returncode == 1
    assert done.stderr == (
        f"quotree: {old} is Python 3.9, 3.11 or later is needed: install one, or name it with make PYTHON=...\n"
    )


def test_python_without_venv_is_reported(tmp_path: Path) -> None:
    bare = program(tmp_path / "bare-python", 'case "$2" in *print*) echo 3.12 ;; *ensurepip*) exit 1 ;; esac')
    done = make_venv(tmp_path, str(bare))
    assert done.returncode == 1
    assert done.stderr == (
        f"quotree: {bare} (3.12) has no venv: install it (Debian: apt install python3-venv), "
        "or name another with make PYTHON=...\n"
    )


def test_tests_without_control_plane_binaries_fail_with_the_reason() -> None:
    test = "tests/dev/controlplane/test_cluster.py::test_helm_uses_this_control_plane"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "KUBEBUILDER_ASSETS": "/nowhere"},
    )
    assert done.returncode == 1
    assert "no control plane to test against: KUBEBUILDER_ASSETS names '/nowhere', which is not a folder" in done.stdout
