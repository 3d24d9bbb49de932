"""Installs the chart into a cluster by helm, and says how to use it."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dev.controlplane.binaries import Binaries
from dev.node.errors import NodeError

NAMESPACE = "quotree-system"
CHART = Path(__file__).parent.parent.parent / "charts" / "quotree"
TIMEOUT = "180s"


def install(binaries: Binaries, kubeconfig: str, values: Sequence[str] = ()) -> str:
    """`helm upgrade --install --wait`; what helm printed. Raises NodeError with its words when it fails."""
    words = ["upgrade", "--install", "quotree", str(CHART), "--namespace", NAMESPACE, "--create-namespace"]
    settings = [word for value in values for word in ("--set", value)]
    done = subprocess.run(
        [str(binaries.helm), *words, "--wait", "--timeout", TIMEOUT, *settings],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "KUBECONFIG": kubeconfig},
    )
    if done.returncode != 0:
        raise NodeError(f"the chart was not installed: {done.stderr.strip()}")
    return done.stdout


def usage(binaries: Binaries, kubeconfig: str, commands: Path) -> list[str]:
    """What to type next, a line each; `commands` is the folder of kubectl-quotree."""
    return [
        f"export KUBECONFIG={kubeconfig}",
        f"export PATH={binaries.kubectl.parent}:{commands}:$PATH",
        "kubectl get quotagroups",
        "kubectl quotree tree",
    ]
