"""On what was measured: the machine, the versions of everything that took part, and what else went on."""

import os
import platform
import subprocess
import sysconfig
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks.starting.kueue_program import VERSION as KUEUE
from dev.controlplane.programs.recipe import pinned_version

ROOT: Final = Path(__file__).parents[2]


def conditions() -> dict[str, str]:
    """Return what all figures of one file have in common: name → value."""
    return {
        "processors": f"{os.cpu_count()} of {_first('/proc/cpuinfo', 'model name')}",
        "memory": f"{int(_first('/proc/meminfo', 'MemTotal').split()[0]) / 2**20:.1f} GiB",
        "kernel": platform.release(),
        "Python": f"{platform.python_version()}, {_build()}",
        "Kubernetes": pinned_version("k8s.io/kubernetes"),
        "etcd": pinned_version("go.etcd.io/etcd/server/v3"),
        "Kueue": KUEUE,
    }


def _first(path: str, name: str) -> str:
    lines = (line.partition(":") for line in Path(path).read_text().splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), "0")


def _build() -> str:
    optimized = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    return "configured with --enable-optimizations" if optimized else "configured without --enable-optimizations"


def load() -> float:
    """Return how many processes wanted to run in the last minute."""
    return round(os.getloadavg()[0], 1)


def today() -> str:
    """Return the date and the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def commit() -> str:
    """Return what was measured."""
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return _git("rev-parse", "HEAD")[:12] + (" with changes" if changed else "")


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
