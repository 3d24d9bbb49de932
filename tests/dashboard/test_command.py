"""What the command says when it cannot serve."""

import socket
import time
from pathlib import Path

import pytest

from cli.__main__ import main
from dev.controlplane.cluster import ControlPlane
from tests.dashboard.site import commanded


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


@pytest.mark.apiserver
def test_open_starts_the_browser_with_an_address_that_works_once(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    with commanded(control_plane.kubeconfig, "--open") as address:
        deadline = time.monotonic() + 60
        while not opened.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        given = opened.read_text().strip()
    origin, _, token = address.partition("/#token=")
    assert given.startswith(f"{origin}/#open=")
    assert token not in given
