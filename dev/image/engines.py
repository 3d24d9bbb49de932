"""Builds and saves the image with a container engine, where one answers."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dev.image.errors import ImageError
from dev.image.facts import ROOT

ANSWER_TIMEOUT = 20.0


@dataclass(frozen=True, slots=True)
class Engine:
    """How one engine is asked; `{tag}` and `{path}` stand for the image's name and the archive's path."""

    name: str
    answers: Sequence[str]
    build: Sequence[str]
    save: Sequence[str]
    run: Sequence[str]


ENGINES = (
    Engine(
        "docker", ("info",), ("build", "--tag", "{tag}", "."), ("save", "--output", "{path}", "{tag}"),
        ("run", "--rm", "--interactive", "--network=none", "{tag}"),
    ),
    Engine(
        "podman", ("info",), ("build", "--tag", "{tag}", "."),
        ("save", "--format=docker-archive", "--output", "{path}", "{tag}"),
        ("run", "--rm", "--interactive", "--network=none", "{tag}"),
    ),
    Engine(
        "buildah", ("info",), ("build", "--tag", "{tag}", "."), ("push", "{tag}", "docker-archive:{path}:{tag}"), (),
    ),
)  # fmt: skip


def answering() -> Engine | None:
    """The first engine of this machine that answers; a client without its engine does not."""
    return next((engine for engine in ENGINES if _answers(engine)), None)


def build(engine: Engine, tag: str, path: Path, progress: Callable[[str], None]) -> None:
    """Build the image, keep it in the engine as `tag` and write it to `path`."""
    progress(f"image: building {tag} with {engine.name}")
    _ask(engine, engine.build, tag, path)
    path.unlink(missing_ok=True)
    _ask(engine, engine.save, tag, path)


def run_python(engine: Engine, tag: str, script: str) -> str | None:
    """What a Python program prints in a container of the image; None when the engine runs no containers.

    Raises ImageError with the program's own words when it fails.
    """
    if not engine.run:
        return None
    words = [word.format(tag=tag) for word in engine.run]
    done = subprocess.run(
        [engine.name, *words, "python", "-"], input=script, capture_output=True, text=True, check=False, cwd=ROOT
    )
    if done.returncode != 0:
        raise ImageError(done.stderr.strip().splitlines()[-1])
    return done.stdout.strip()


def _answers(engine: Engine) -> bool:
    if shutil.which(engine.name) is None:
        return False
    try:
        return (
            subprocess.run(
                [engine.name, *engine.answers], capture_output=True, check=False, timeout=ANSWER_TIMEOUT
            ).returncode
            == 0
        )
    except subprocess.TimeoutExpired:
        return False


def _ask(engine: Engine, words: Sequence[str], tag: str, path: Path) -> None:
    command = [engine.name, *(word.format(tag=tag, path=path) for word in words)]
    done = subprocess.run(command, check=False, cwd=ROOT)
    if done.returncode != 0:
        raise ImageError(f"{' '.join(command)} ended with code {done.returncode}: see above")
