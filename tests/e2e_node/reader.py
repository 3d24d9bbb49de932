"""A reader of README: types its commands, as they stand there, into a shell beside the cluster of the real node."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dev.controlplane.cluster import ControlPlane
from tests.documented.documentation import commands
from tests.project.repository import ROOT

README = tuple(commands("README.md"))
PATIENCE = 600.0


@dataclass(frozen=True, slots=True)
class Reader:
    """`tools`: the folder that the command line is installed into."""

    cluster: ControlPlane
    tools: Path

    def types(self, command: str) -> str:
        """What the command prints. Fails with all its words when it fails."""
        if command.startswith("uv ") and shutil.which("uv") is None:
            return self._install_by_pip()
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
            env=self._environment(),
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def _environment(self) -> dict[str, str]:
        path = f"{self.tools / 'bin'}:{self.cluster.binaries.kubectl.parent}:{os.environ['PATH']}"
        tools = {"UV_TOOL_DIR": str(self.tools / "uv"), "UV_TOOL_BIN_DIR": str(self.tools / "bin")}
        return {**os.environ, **tools, "PATH": path, "KUBECONFIG": str(self.cluster.kubeconfig)}

    def _install_by_pip(self) -> str:
        """What uv and pipx do as well: an environment of its own, and the application in it."""
        subprocess.run([sys.executable, "-m", "venv", str(self.tools)], check=True)
        return self.types(f"{self.tools}/bin/pip install --quiet --disable-pip-version-check .")


def of_readme(first: str, last: str) -> list[str]:
    """README's commands from the one that begins with `first` to the one that begins with `last`."""
    at = [next(at for at, command in enumerate(README) if command.startswith(words)) for words in (first, last)]
    return list(README[at[0] : at[1] + 1])


PUSHED = of_readme("docker push", "docker push")[0].rpartition(" ")[2]
"""The image that README pushes."""
