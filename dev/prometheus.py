"""Prometheus and promtool for the tests: this machine's, or Debian's package, unpacked into the cache, not installed.

`python -m dev.prometheus` says where they are, and gets them if they are absent; exit code 2 where they cannot be had.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

_NAMES: Final = ("prometheus", "promtool")
_CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quotree" / "prometheus"
_TIMEOUT: Final = 300
ABSENT: Final = (
    "no Prometheus here, and Debian's package cannot be had (apt-get update, or put prometheus and promtool on PATH)"
)


class Programs(NamedTuple):
    """Both programs."""

    prometheus: Path
    promtool: Path


def find() -> Programs | None:
    """Return the programs on PATH, else those in the cache."""
    on_path = [shutil.which(name) for name in _NAMES]
    if all(on_path):
        return Programs(*(Path(each) for each in on_path if each))
    cached = [_CACHE / "usr" / "bin" / name for name in _NAMES]
    return Programs(*cached) if all(each.is_file() for each in cached) else None


def fetch() -> Programs | None:
    """Return the programs, from Debian's package if need be; None where that is not possible."""
    return find() or (_unpack() and find()) or None


def _unpack() -> bool:
    if not all(map(shutil.which, ("apt-get", "dpkg-deb"))):
        return False
    _CACHE.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_CACHE.parent) as folder:
        if not _succeeds(["apt-get", "download", "--quiet", "prometheus"], folder):
            return False
        packages = [str(each) for each in Path(folder).glob("*.deb")]
        unpacked = Path(folder) / "unpacked"
        if not all(_succeeds(["dpkg-deb", "-x", each, str(unpacked)], folder) for each in packages):
            return False
        shutil.rmtree(_CACHE, ignore_errors=True)
        unpacked.rename(_CACHE)
    return True


def _succeeds(command: list[str], folder: str) -> bool:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_TIMEOUT)
    if done.returncode:
        print(f"prometheus: {' '.join(command)}: {done.stderr.strip()}", file=sys.stderr)
    return not done.returncode


def main() -> int:
    """Say where they are."""
    programs = fetch()
    if programs is None:
        print(f"prometheus: {ABSENT}", file=sys.stderr)
        return 2
    print(f"prometheus: {programs.prometheus}, {programs.promtool}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
