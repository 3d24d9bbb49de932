"""Kueue's program and chart: fetched as a Go module, checked by its sum, built once and kept in the cache."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.host.processes import tied
from dev.controlplane.programs import toolchain
from dev.controlplane.programs.binaries import cache_root

MODULE: Final = "sigs.k8s.io/kueue"
VERSION: Final = "v0.19.2"
SUM: Final = "h1:mPNzr37u0nwI7ikST5QQl5gg6EgtYOAvC9ZbTgywdN8="

METRICS_CERTIFICATES: Final = "KUEUE_METRICS_CERTIFICATES"
_FIXED_PLACE: Final = '"/etc/kueue/metrics/certs"'
"""Where the program looks for a certificate that it insists on, whatever its settings say. The one line that is changed
before it is built: it reads the folder from an environment variable instead, so that nothing need be put under /etc."""


@dataclass(frozen=True, slots=True)
class Kueue:
    """Where both are."""

    program: Path
    chart: Path


def ensure(progress: Callable[[str], None]) -> Kueue:
    """Both, built first if need be (about four minutes, once). Raises ControlPlaneError with one sentence."""
    folder = cache_root() / f"kueue-{VERSION}"
    found = Kueue(folder / "kueue", folder / "chart")
    if not found.program.is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="kueue-", dir=folder.parent) as scratch:
            _build(Path(scratch), folder, progress)
    return found


def _build(scratch: Path, folder: Path, progress: Callable[[str], None]) -> None:
    go = toolchain.go(folder.parent, progress)
    progress(f"Kueue {VERSION}: building it from its Go module, once, about four minutes")
    source = scratch / "source"
    shutil.copytree(_downloaded(go, scratch), source, copy_function=shutil.copyfile)
    for place in (source, *(each for each in source.rglob("*") if each.is_dir())):
        place.chmod(0o755)
    main = source / "cmd" / "kueue" / "main.go"
    main.write_text(main.read_text().replace(_FIXED_PLACE, f'os.Getenv("{METRICS_CERTIFICATES}")'))
    built = scratch / "built"
    _go(go, source, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", f"{built}/kueue", "./cmd/kueue")
    shutil.copytree(source / "charts" / "kueue", built / "chart")
    built.rename(folder)


def _downloaded(go: Path, scratch: Path) -> Path:
    (scratch / "go.mod").write_text("module benchmark\n")
    downloaded = json.loads(_go(go, scratch, "mod", "download", "-json", f"{MODULE}@{VERSION}"))
    if downloaded["Sum"] != SUM:
        raise ControlPlaneError(
            f"{MODULE}@{VERSION} has the sum {downloaded['Sum']}, not {SUM}: it is not what was pinned"
        )
    return Path(downloaded["Dir"])


def _go(go: Path, where: Path, *words: str) -> str:
    done = subprocess.run(
        tied([str(go), *words]),
        cwd=where,
        env=toolchain.local(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ControlPlaneError(f"go {' '.join(words)} ended with code {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout
