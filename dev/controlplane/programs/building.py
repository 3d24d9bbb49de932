"""Builds the control plane's programs from Go modules, once, with a line per step and a heartbeat in between."""

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.host.processes import tied
from dev.controlplane.programs import toolchain
from dev.controlplane.programs.recipe import MODULE, Recipe, build_arguments

HEARTBEAT = 10.0
POLL = 0.5
SCRATCH = "build-"
# A first build fills Go's own caches with about 4 GB; below this not even the programs themselves (0.5 GB) have room.
LEAST_FREE = 1 << 30
NETWORK_WORDS = ("dial tcp", "no such host", "i/o timeout", "proxyconnect", "connection refused", "TLS handshake")


def build(recipes: Sequence[Recipe], folder: Path, progress: Callable[[str], None], pins: Path = MODULE) -> None:
    """Put each of `recipes` into `folder`, unless another process just did. `pins`: where their go.mod is.

    Raises ControlPlaneError with a reason.
    """
    started = time.monotonic()

    def say(text: str) -> None:
        progress(f"control plane: {text} ({time.monotonic() - started:.0f} s)")

    _make_folder(folder)
    with only_one(folder.parent / "build.lock", say):
        absent = [recipe for recipe in recipes if not (folder / recipe.name).is_file()]
        if not absent:
            say("another process built what was absent")
            return
        go = toolchain.go(folder.parent, progress)
        for left_behind in folder.parent.glob(f"{SCRATCH}*"):
            shutil.rmtree(left_behind, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=folder.parent) as scratch:
            say(f"building {', '.join(recipe.name for recipe in absent)} from Go modules, once, about five minutes")
            building = _Build(go, pins, Path(scratch), say)
            building.download(absent)
            building.compile(absent)
            for recipe in absent:
                (Path(scratch) / "bin" / recipe.linked_as).rename(folder / recipe.name)
        say(f"built {len(absent)} programs into {folder}")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise ControlPlaneError(
            f"the cache folder {folder} cannot be made: {error.strerror}; let XDG_CACHE_HOME name one that can"
        ) from error
    if free < LEAST_FREE:
        raise ControlPlaneError(
            f"{folder} has {free >> 20} MiB free, the programs need {LEAST_FREE >> 20}: make room, "
            "or let XDG_CACHE_HOME name a folder on another disk"
        )


@contextmanager
def only_one(lock: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Wait until no other process builds; the kernel drops a dead builder's lock."""
    with lock.open("w") as file:
        waiting_since = last_said = time.monotonic()
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if last_said == waiting_since or time.monotonic() - last_said > HEARTBEAT:
                    say("another process builds, waiting for it")
                    last_said = time.monotonic()
                time.sleep(POLL)
        yield


@dataclass(frozen=True, slots=True)
class _Build:
    """One run of Go: modules and versions from the folder `pins`, everything it writes in `scratch`."""

    go: Path
    pins: Path
    scratch: Path
    say: Callable[[str], None]

    def download(self, recipes: Sequence[Recipe]) -> None:
        packages = [recipe.package for recipe in recipes]
        listed = self.scratch / "packages.txt"
        self.say("downloading modules")
        self._run(["list", "-mod=readonly", "-deps", *packages], listed, lambda: self.say("downloading modules"))
        self.say(f"modules are here, {len(listed.read_text().splitlines())} packages to compile")

    def compile(self, recipes: Sequence[Recipe]) -> None:
        output = self.scratch / "bin"
        output.mkdir()
        linked: set[str] = set()

        def tell() -> None:
            finished = {recipe.name for recipe in recipes if (output / recipe.linked_as).is_file()}
            for name in sorted(finished - linked):
                self.say(f"linked {name}")
            linked.update(finished)
            compiled = len(self._messages.read_text(errors="replace").splitlines())
            self.say(f"compiling: {compiled} packages done, {len(linked)} of {len(recipes)} programs linked")

        self._run(build_arguments(recipes, output, self.pins), self.scratch / "built.txt", tell)

    @property
    def _messages(self) -> Path:
        return self.scratch / "errors.txt"

    def _run(self, arguments: Sequence[str], output: Path, heartbeat: Callable[[], None]) -> None:
        """Run Go with its output in a file; its messages go to a file that may be read meanwhile."""
        with output.open("wb") as out, self._messages.open("wb") as err:
            child = subprocess.Popen(
                tied([str(self.go), *arguments]),
                cwd=self.pins,
                stdout=out,
                stderr=err,
                env=toolchain.local(os.environ),
                process_group=0,
            )
            try:
                _wait(child, heartbeat)
            finally:
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
        if child.returncode != 0:
            raise ControlPlaneError(explain(self._messages.read_text(errors="replace"), child.returncode))


def _wait(child: subprocess.Popen[bytes], heartbeat: Callable[[], None]) -> None:
    while True:
        try:
            child.wait(HEARTBEAT)
        except subprocess.TimeoutExpired:
            heartbeat()
        else:
            return


def explain(messages: str, code: int) -> str:
    """Return a one-line message for a failed Go build."""
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    for line in lines:
        if "no space left on device" in line:
            return "the disk filled up while the programs were built: a first build needs about 5 GB; make room"
        if any(word in line for word in NETWORK_WORDS):
            return (
                f"Go modules cannot be downloaded: {line}; check the network and GOPROXY, "
                "or let KUBEBUILDER_ASSETS name a folder that has the programs"
            )
    reason = lines[-1] if lines else "no reason given"
    return f"Go ended with code {code} while building the control plane: {reason}"
