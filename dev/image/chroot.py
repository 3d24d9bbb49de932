"""Builds the image's layers without a container engine: the Dockerfile's steps in a Debian root made by mmdebstrap.

Needs root and mmdebstrap. The Debian root is kept in the cache; the layers are made from nothing each time.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dev.image.errors import ImageError
from dev.image.facts import NETWORK, ROOT

SUITE = "trixie"
PACKAGES = ("python3", "python3-venv", "ca-certificates")
SOURCES = (
    "runtime.lock", "pyproject.toml", "README.md", "LICENSE", "cli", "dashboard", "reconciler", "shared", "webhook",
    "dev/__init__.py", "dev/image",
)  # fmt: skip
LEAST_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
PASSED_ON = (*NETWORK, "SOURCE_DATE_EPOCH")
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
_AUTHORITIES_INSIDE = "/authorities.crt"
LAYERS = ("base", "app")


def missing() -> list[str]:
    """Return what this machine lacks, each as something to do; empty when the image can be built here."""
    lacks = []
    if os.geteuid() != 0:
        lacks.append("run it as root, or start docker, podman or buildah")
    if shutil.which("mmdebstrap") is None:
        lacks.append("install mmdebstrap (apt install mmdebstrap), or docker, podman or buildah")
    return lacks


@contextmanager
def layers(progress: Callable[[str], None], *, cache: Path, refresh: bool = False) -> Iterator[list[Path]]:
    """The folders of the image's layers, from the bottom up, until the end of the block.

    Raises ImageError when they cannot be built. `refresh` makes the Debian root again, with today's packages.
    """
    if lacks := missing():
        raise ImageError("the image cannot be built here: " + "; ".join(lacks))
    archive = _debian(progress, cache, refresh=refresh)
    with tempfile.TemporaryDirectory(prefix="quotree-image-") as name:
        root = Path(name) / "root"
        root.mkdir()
        _run(["tar", "-C", str(root), "-xf", str(archive)], "unpacking the Debian root")
        _furnish(root)
        progress("image: installing the locked packages and the wheel, leaving out what no process imports")
        steps = ["chroot", str(root), "env", "-C", "/src", "python3", "-m", "dev.image.steps", "/src", "/layers"]
        _run(steps, "the steps of the image", _environment(root))
        yield [root / "layers" / layer for layer in LAYERS]


def _debian(progress: Callable[[str], None], cache: Path, *, refresh: bool) -> Path:
    key = hashlib.sha256(" ".join((SUITE, *PACKAGES)).encode()).hexdigest()[:16]
    archive = cache / f"debian-{key}.tar"
    if archive.is_file() and not refresh:
        progress(f"image: Debian root from {archive}; REFRESH=1 makes it again")
        return archive
    progress(f"image: making a Debian root ({SUITE}: {', '.join(PACKAGES)}), once, about half a minute")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="debian-", dir=cache) as scratch:
        made = Path(scratch) / archive.name
        excluded = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")]
        command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}", *excluded]
        _run([*command, SUITE, str(made)], "mmdebstrap")
        made.rename(archive)
    return archive


def _furnish(root: Path) -> None:
    """Put the sources in, and what is needed to reach a package index: names and this machine's authorities."""
    unwanted = shutil.ignore_patterns("__pycache__")
    for name in SOURCES:
        target = root / "src" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=unwanted)
        else:
            shutil.copy2(ROOT / name, target)
    shutil.copyfile("/etc/resolv.conf", root / "etc/resolv.conf")
    if AUTHORITIES.is_file():
        shutil.copyfile(AUTHORITIES, root / _AUTHORITIES_INSIDE.lstrip("/"))


def _environment(root: Path) -> dict[str, str]:
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    if (root / _AUTHORITIES_INSIDE.lstrip("/")).is_file():
        passed["PIP_CERT"] = _AUTHORITIES_INSIDE
    return {"PATH": LEAST_PATH, "HOME": "/root", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", **passed}


def _run(command: list[str], what: str, environment: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment
    )
    if done.returncode != 0:
        raise ImageError(f"{what} failed with code {done.returncode}: " + "\n".join(done.stdout.splitlines()[-12:]))
