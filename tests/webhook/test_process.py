"""The command ends with one clear sentence when it cannot work, and says what its settings file may hold."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from webhook.settings import CertificateSource, WebhookSettings


def run(folder: Path, settings: str) -> tuple[int, str]:
    """Run the command; its exit code and what it says on standard error."""
    config = folder / "webhook.yaml"
    config.write_text(settings)
    command = [sys.executable, "-m", "webhook", "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stderr.replace(str(folder), "FOLDER").strip()


def test_every_invalid_setting_is_reported_with_its_line(tmp_path: Path) -> None:
    code, message = run(tmp_path, "listne: {}\ncertificates: {source: Magic}\ndrain: soon\n")
    assert code == 2
    assert message.startswith("quotree-webhook: ")
    for word in ("listne", "listen", "certificates.source", "SelfManaged", "drain", "30s"):
        assert word in message
    assert "Traceback" not in message


def test_certificate_files_need_a_directory(tmp_path: Path) -> None:
    code, message = run(tmp_path, "certificates: {source: Files}\n")
    assert (code, "directory must be given when source is Files" in message, "Traceback" in message) == (2, True, False)


def test_missing_kubeconfig_is_reported_in_one_line(tmp_path: Path) -> None:
    settings = {"connection": {"kubeconfig": str(tmp_path / "absent")}, "health": {"host": "127.0.0.1", "port": 0}}
    code, message = run(tmp_path, yaml.safe_dump(settings))
    assert (code, "Traceback" in message, "FOLDER/absent" in message) == (2, False, True)


def test_occupied_health_port_is_reported_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, message = run(tmp_path, yaml.safe_dump({"health": {"host": "127.0.0.1", "port": port}}))
    assert (code, "Traceback" in message) == (2, False)
    assert f"cannot listen on 127.0.0.1:{port} for health: the port is taken by another process" in message


def test_defaults_match_the_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_NAMESPACE", "quota")
    settings = WebhookSettings()
    assert (settings.home, settings.reconciler) == ("quota", "system:serviceaccount:quota:quotree-reconciler")
    assert (settings.listen.port, settings.health.port) == (9443, 8081)
    assert settings.certificates.source is CertificateSource.SELF_MANAGED
    assert settings.certificates.secret_name == "quotree-webhook-tls"
