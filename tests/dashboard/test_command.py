"""What the command says when it cannot serve."""

import socket
from pathlib import Path

import pytest

from cli.__main__ import main
from dev.controlplane.cluster import ControlPlane


def _output_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["dashboard", *words])
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_missing_cluster_is_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    assert _output_of(capsys, f"--kubeconfig={absent}").startswith(f"quotree: kubeconfig {absent} does not exist: ")


@pytest.mark.apiserver
def test_occupied_port_is_reported(capsys: pytest.CaptureFixture[str], control_plane: ControlPlane) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = _output_of(capsys, f"--kubeconfig={control_plane.kubeconfig}", f"--port={port}")
    assert text.startswith(f"quotree: port {port} of 127.0.0.1 cannot be used: ")
