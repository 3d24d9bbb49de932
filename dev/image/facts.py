"""What an image is called, for which machine and of what time it is."""

import datetime
import os
import platform
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
REPOSITORY = "quotree"
NETWORK = (
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL",
)  # fmt: skip
"""Variables of the environment by which a build reaches a package index."""
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def version() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def tag(repository: str = REPOSITORY) -> str:
    return f"{repository}:{version()}"


def full_name(tag: str) -> str:
    """Return the name as a container runtime stores it: `quotree:1` is `docker.io/library/quotree:1`."""
    first, slash, _ = tag.partition("/")
    if not slash:
        return f"docker.io/library/{tag}"
    return tag if "." in first or ":" in first or first == "localhost" else f"docker.io/{tag}"


def architecture() -> str:
    machine = platform.machine()
    return ARCHITECTURES.get(machine, machine)


def source_time() -> int:
    """SOURCE_DATE_EPOCH, else the time of the last commit, else 0: the same sources give the same image."""
    named = os.environ.get("SOURCE_DATE_EPOCH")
    if named:
        return int(named)
    done = subprocess.run(
        ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False
    )
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip() else 0


def commit() -> str:
    """Return the commit of the sources; empty where they are in no repository, or differ from their commit."""
    found = [
        subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
        for words in (("rev-parse", "HEAD"), ("status", "--porcelain"))
    ]
    head, changes = (each.stdout.strip() for each in found)
    return "" if changes or any(each.returncode for each in found) else head


def timestamp(seconds: int) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
