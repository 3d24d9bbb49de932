"""Installs the locked packages and the project's own wheel into a virtual environment that holds no installer."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD_BACKEND = "hatchling>=1.27"
OWN_COMMANDS = ("python", "quotree", "kubectl")


def into(venv: Path, source: Path) -> None:
    """Make `venv` from `source`: exactly what runtime.lock says, and the wheel built from the sources."""
    _run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(venv))
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        _run(sys.executable, "-m", "venv", str(scratch / "tools"))
        pip = [
            str(scratch / "tools/bin/python"),
            "-m",
            "pip",
            "--no-cache-dir",
            "--disable-pip-version-check",
            "--quiet",
        ]
        to_venv = [*pip, "--python", str(venv / "bin/python"), "install", "--no-compile", "--root-user-action=ignore"]
        _run(*to_venv, "--require-hashes", "-r", str(source / "runtime.lock"))
        _run(*pip, "install", BUILD_BACKEND)
        wheels = scratch / "wheels"
        _run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(source))
        _run(*to_venv, "--no-deps", "--no-index", *map(str, wheels.glob("*.whl")))


def site_packages(venv: Path) -> Path:
    return venv / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def copy(venv: Path, target: Path) -> None:
    """The virtual environment as the image has it: of the commands only Python's and the project's, no bytecode."""
    left_out = shutil.ignore_patterns("__pycache__", "direct_url.json", "include")
    shutil.copytree(venv, target, symlinks=True, ignore=left_out)
    for command in (target / "bin").iterdir():
        if not command.name.startswith(OWN_COMMANDS):
            command.unlink()
    # The folder that the wheel was built in is written down there, and it has another name with every build.
    for record in target.rglob("*.dist-info/RECORD"):
        lines = [line for line in record.read_text().splitlines() if "direct_url.json" not in line]
        record.write_text("\n".join(lines) + "\n")


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
