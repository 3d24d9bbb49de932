"""Installs the chart into a cluster by helm, and says how to use it."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dev.controlplane.programs.binaries import Binaries, Clients
from dev.node.errors import NodeError

NAMESPACE = "quotree-system"
CHART = Path(__file__).parent.parent.parent / "charts" / "quotree"
TIMEOUT = "180s"


def install(programs: Binaries | Clients, kubeconfig: str, values: Sequence[str] = ()) -> str:
    """`helm upgrade --install --wait`; what helm printed. Raises NodeError with its words when it fails."""
    words = ["upgrade", "--install", "quotree", str(CHART), "--namespace", NAMESPACE, "--create-namespace"]
    settings = [word for value in values for word in ("--set", value)]
    done = _run([str(programs.helm), *words, "--wait", "--timeout", TIMEOUT, *settings], kubeconfig)
    if done.returncode != 0:
        # helm says that it waited for too long, and not for what.
        pods = _run([str(programs.kubectl), "get", "pods", "--namespace", NAMESPACE], kubeconfig)
        raise NodeError(f"the chart was not installed: {done.stderr.strip()}\n{pods.stdout.strip()}")
    return done.stdout


def _run(command: Sequence[str], kubeconfig: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "KUBECONFIG": kubeconfig}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def image_values(image: str) -> list[str]:
    """Return the chart's values for `REPOSITORY:TAG` or `REPOSITORY@DIGEST`. Raises NodeError for anything else."""
    repository, at, digest = image.partition("@")
    if at:
        given = {"repository": repository, "digest": digest}
    else:
        repository, _, tag = image.rpartition(":")
        given = {"repository": repository, "tag": "" if "/" in tag else tag}
    if not all(given.values()):
        raise NodeError(
            f"IMAGE={image} names no image that the cluster can pull, REPOSITORY:TAG or REPOSITORY@DIGEST"
            " (docs/install.md)"
        )
    return [f"image.{name}={value}" for name, value in given.items()]


def usage(programs: Binaries | Clients, kubeconfig: str, commands: Path) -> list[str]:
    """Return what to type next, a line each; `commands` is the folder of kubectl-quotree."""
    return [
        f"export KUBECONFIG={kubeconfig}",
        f"export PATH={programs.kubectl.parent}:{commands}:$PATH",
        "kubectl get quotagroups",
        "kubectl quotree tree",
    ]
