"""Builds an operator from its Go module, once: its program and its rendered manifests are kept in the cache."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.host.processes import tied
from dev.controlplane.programs import toolchain
from dev.controlplane.programs.binaries import Binaries, cache_root
from dev.controlplane.programs.building import only_one
from dev.operators.recipe import Change, Operator

_FLAGS = ("-trimpath", "-buildvcs=false", "-ldflags=-s -w")


@dataclass(frozen=True, slots=True)
class Built:
    """Where an operator's program and rendered manifests are."""

    program: Path
    manifests: Path


def ensure(operator: Operator, binaries: Binaries, progress: Callable[[str], None]) -> Built:
    """Both, built first if need be (two to five minutes, once). Raises ControlPlaneError with one sentence."""
    folder = cache_root() / operator.folder_name
    built = Built(folder / "program", folder / "manifests.yaml")
    if folder.is_dir():
        return built
    folder.parent.mkdir(parents=True, exist_ok=True)

    def say(text: str) -> None:
        progress(f"{operator.name}: {text}")

    with only_one(folder.parent / f"{operator.name}.lock", say):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(prefix="operator-build-", dir=folder.parent) as scratch:
                _build(operator, binaries, Path(scratch), say)
                (Path(scratch) / "built").rename(folder)
    return built


def _build(operator: Operator, binaries: Binaries, scratch: Path, say: Callable[[str], None]) -> None:
    started = time.monotonic()
    go = toolchain.go(cache_root(), say)
    say(f"building {operator.module} {operator.version} from its Go module, once, two to five minutes")
    source = scratch / "source"
    shutil.copytree(_downloaded(go, operator, scratch), source, copy_function=shutil.copyfile)
    for place in (source, *(each for each in source.rglob("*") if each.is_dir())):
        place.chmod(0o755)
    for change in operator.changes:
        apply_change(change, source)
    for original, copy in operator.copies:
        shutil.copyfile(source / original, source / copy)
    built = scratch / "built"
    built.mkdir()
    (built / "manifests.yaml").write_text(_rendered(operator, binaries, source) if operator.manifests else "")
    if operator.package:
        _run([str(go), "build", *_FLAGS, "-o", str(built / "program"), operator.package], source)
    say(f"built in {time.monotonic() - started:.0f} s")


def _rendered(operator: Operator, binaries: Binaries, source: Path) -> str:
    if (source / operator.manifests / "Chart.yaml").is_file():
        chart, (namespace, _) = operator.manifests, operator.account
        words = ("template", Path(chart).name, chart, "--namespace", namespace, "--include-crds")
        return _run([str(binaries.helm), *words], source)
    return _run([str(binaries.kubectl), "kustomize", operator.manifests], source)


def _downloaded(go: Path, operator: Operator, scratch: Path) -> Path:
    (scratch / "go.mod").write_text("module operators\n")
    named = f"{operator.module}@{operator.version}"
    downloaded = json.loads(_run([str(go), "mod", "download", "-json", named], scratch))
    if downloaded["Sum"] != operator.sum:
        raise ControlPlaneError(
            f"{named} has the checksum {downloaded['Sum']}, not {operator.sum}: it is not what was pinned"
        )
    return Path(downloaded["Dir"])


def apply_change(change: Change, source: Path) -> None:
    """Replace one text of a source file. Raises ControlPlaneError when it is not there exactly once."""
    file = source / change.file
    text = file.read_text()
    if text.count(change.old) != 1:
        raise ControlPlaneError(f"{change.file} has {text.count(change.old)} times, not once: {change.old.strip()}")
    file.write_text(text.replace(change.old, change.new))


def _run(command: list[str], where: Path) -> str:
    environment = toolchain.local(os.environ)
    done = subprocess.run(tied(command), cwd=where, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        words = " ".join([Path(command[0]).name, *command[1:]])
        raise ControlPlaneError(f"{words} ended with code {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout
