"""docs/troubleshooting.md shows what its commands print: they are run in its order, on the cluster that it names."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev.controlplane import cluster
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.quotree import Quotree, installed
from tests.documented.documentation import blocks
from tests.project.repository import ROOT

PAGE = "docs/troubleshooting.md"
PATIENCE = 240.0
MAGIC = "..."
GROUPS = ("research", "vision", "language", "serving")


@pytest.fixture(scope="module")
def quotree(control_plane_binaries: Binaries) -> Iterator[Quotree]:
    nodes = [NodeSpec("node", allocatable={"cpu": "4", "memory": "8Gi", "pods": "110"})]
    with cluster.start(control_plane_binaries, nodes=nodes) as started, installed(started) as running:
        started.kubectl("apply", "-f", str(ROOT / "examples" / "1-organisation.yaml"))
        # With the examples' finalizer, the deletion that the page shows refused would be accepted.
        kept_at_once = json.dumps({"metadata": {"finalizers": None}})
        started.kubectl("patch", "quotagroups", "--type=merge", "-p", kept_at_once, *GROUPS)
        yield running


def test_every_command_prints_what_the_page_shows(quotree: Quotree, tmp_path: Path) -> None:
    (manifest,) = blocks(PAGE, "yaml")
    (tmp_path / "nightly.yaml").write_text(manifest)
    exchanges = list(_exchanges())
    assert len(exchanges) > 8
    for command, shown in exchanges:
        deadline = time.monotonic() + PATIENCE
        while missing := _missing(shown, message := _run(quotree, command, tmp_path)):
            assert time.monotonic() < deadline, f"{command}: {missing} is not in:\n{message}"
            time.sleep(0.3)


def _exchanges() -> Iterator[tuple[str, list[str]]]:
    """Each command and the lines that the page shows as its answer."""
    for block in blocks(PAGE, "console"):
        for part in block.split("$ ")[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            yield command, shown


def _run(quotree: Quotree, command: str, folder: Path) -> str:
    path = f"{quotree.commands}:{quotree.cluster.binaries.kubectl.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "KUBECONFIG": str(quotree.cluster.kubeconfig)}
    shell = ["bash", "-uo", "pipefail", "-c", command]
    done = subprocess.run(shell, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    return f"{done.stdout}\n{done.stderr}"


def _missing(shown: list[str], message: str) -> list[str]:
    """The shown lines that were not said; spaces count as one, and `...` as anything."""
    lines = [" ".join(line.split()) for line in message.splitlines()]
    patterns = {line: re.escape(" ".join(line.split())).replace(re.escape(MAGIC), ".*") for line in shown}
    return [line for line, pattern in patterns.items() if not any(re.fullmatch(pattern, each) for each in lines)]
