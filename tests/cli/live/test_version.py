"""The version is said for client and server, also where nothing is installed."""

import json
import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from cli.commands import version
from cli.read.cluster.version import client_version
from dev.controlplane.cluster import ControlPlane

ROOT = Path(__file__).parents[3]
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: versioned
  namespace: default
  labels: {quotree.dev/process: webhook, app.kubernetes.io/version: "0.0.9"}
spec:
  replicas: 0
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: a, image: a}]}
"""


def test_client_and_server_versions_are_printed(control_plane: ControlPlane) -> None:
    control_plane.apply(DEPLOYMENT)
    environment = {"PATH": f"{control_plane.binaries.kubectl.parent}:{os.environ['PATH']}"}
    words = ["--kubeconfig", str(control_plane.kubeconfig), "-o", "json"]
    answer = CliRunner(env=environment).invoke(version.command, words)
    assert json.loads(answer.stdout) == {"client": client_version(), "server": {"webhook": "0.0.9"}}


def test_unreachable_cluster_is_reported_in_one_line(tmp_path: Path) -> None:
    answer = CliRunner().invoke(version.command, ["--kubeconfig", str(tmp_path / "absent")])
    assert (answer.exit_code, len(answer.stdout.splitlines())) == (0, 2)


def test_source_tree_that_is_not_installed_is_reported_in_one_line(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    site = Path(next(path for path in sys.path if path.endswith("site-packages")))
    for found in site.iterdir():
        if not found.name.lower().startswith(("quotree", "_quotree", "_editable_impl_quotree", "__editable__")):
            (packages / found.name).symlink_to(found)
    command = [sys.executable, "-S", "-m", "cli", "--version"]
    environment = {"PYTHONPATH": f"{ROOT}:{packages}", "PATH": os.environ["PATH"]}
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert (answer.returncode, answer.stdout, answer.stderr) == (
        0,
        "quotree, version unknown (a source tree that is not installed)\n",
        "",
    )
