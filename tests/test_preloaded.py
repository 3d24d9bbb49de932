"""A fork is the process that `python -m MODULE` is: its output, its exit code, its environment."""

import json
from pathlib import Path

import pytest

from tests.preloaded import Preloaded


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"listne": 1}, "listne"), ({"connection": {"kubeconfig": "/absent/kubeconfig"}}, "/absent/kubeconfig")],
    ids=["wrong settings", "no cluster"],
)
def test_fork_ends_with_the_output_and_exit_code_of_the_program(
    preloaded: Preloaded, tmp_path: Path, settings: dict[str, object], message: str
) -> None:
    config, log = tmp_path / "settings.yaml", tmp_path / "log"
    config.write_text(json.dumps({**settings, "health": {"host": "127.0.0.1", "port": 0}}))
    assert preloaded.run("reconciler", config, log).wait(60) == 2
    assert log.read_text().splitlines()[-1].startswith("quotree-reconciler: ")
    assert message in log.read_text()


def test_fork_has_the_environment_of_its_test(
    preloaded: Preloaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "settings.yaml"
    config.write_text(json.dumps({"health": {"host": "127.0.0.1", "port": 0}}))
    monkeypatch.setenv("KUBECONFIG", "/absent/by-environment")
    assert preloaded.run("reconciler", config, tmp_path / "log").wait(60) == 2
    assert "/absent/by-environment" in (tmp_path / "log").read_text()
