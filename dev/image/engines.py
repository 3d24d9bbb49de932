"""Builds and saves the image with a container engine, where one answers.

`ENGINE` in the environment names the one to use, or `none`; podman and buildah are told the whole name, because to them
`quotree:1` is `localhost/quotree:1`, and a cluster asks for `docker.io/library/quotree:1`.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dev.image.errors import ImageError
from dev.image.facts import NETWORK, ROOT, full_name

ANSWER_TIMEOUT = 20.0
BUILD_ARGUMENTS = ("BASE", *NETWORK)
"""Of the environment, what a build is given when it is set."""
NONE = "none"


@dataclass(frozen=True, slots=True)
class Engine:
    """How one engine is asked; `{tag}` and `{path}` stand for the image's name and the archive's path.

    `create` and `remove`: where a program is run in a container that has to be made first, `{container}`.
    """

    name: str
    answers: Sequence[str]
    build: Sequence[str]
    save: Sequence[str]
    run: Sequence[str]
    create: Sequence[str] = ()
    remove: Sequence[str] = ()


ENGINES = (
    Engine(
        "docker", ("info",), ("build", "--tag", "{tag}"), ("save", "--output", "{path}", "{tag}"),
        ("run", "--rm", "--interactive", "--network=none", "{tag}"),
    ),
    Engine(
        "podman", ("info",), ("build", "--tag", "{tag}"),
        ("save", "--format=docker-archive", "--output", "{path}", "{tag}"),
        ("run", "--rm", "--interactive", "--network=none", "{tag}"),
    ),
    Engine(
        "buildah", ("info",), ("build", "--tag", "{tag}"), ("push", "{tag}", "docker-archive:{path}:{tag}"),
        ("run", "{container}", "--"), ("from", "{tag}"), ("rm", "{container}"),
    ),
)  # fmt: skip


def answering() -> Engine | None:
    """Return the first engine of this machine that answers, or the one that ENGINE names; None: build without one.

    A client without its engine does not answer. Raises ImageError when ENGINE names one that does not.
    """
    wanted = os.environ.get("ENGINE", "")
    if wanted == NONE:
        return None
    found = next((engine for engine in ENGINES if wanted in ("", engine.name) and _answers(engine)), None)
    if wanted and found is None:
        known = ", ".join(engine.name for engine in ENGINES)
        raise ImageError(f"ENGINE={wanted} does not answer here: name one of {known} that does, or {NONE}")
    return found


def build(engine: Engine, tag: str, path: Path, progress: Callable[[str], None]) -> None:
    """Build the image, keep it in the engine as `tag` and write it to `path`."""
    progress(f"image: building {tag} with {engine.name}")
    given = [word for name in BUILD_ARGUMENTS if os.environ.get(name) for word in ("--build-arg", name)]
    _ask(engine, [*engine.build, *given, "."], full_name(tag), path)
    path.unlink(missing_ok=True)
    _ask(engine, engine.save, full_name(tag), path)


def run_python(engine: Engine, tag: str, script: str) -> str:
    """Return what a Python program prints in a container of the image.

    Raises ImageError with the program's own words when it fails.
    """
    name = full_name(tag)
    container = _said(engine, [word.format(tag=name) for word in engine.create]) if engine.create else ""
    try:
        words = [word.format(tag=name, container=container) for word in engine.run]
        return _said(engine, [*words, "python", "-"], script)
    finally:
        if container:
            _said(engine, [word.format(container=container) for word in engine.remove])


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


def _said(engine: Engine, words: Sequence[str], script: str = "") -> str:
    done = subprocess.run([engine.name, *words], input=script, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no words"])[-1]
        raise ImageError(f"{engine.name} {words[0]} ended with code {done.returncode}: {last}")
    return done.stdout.strip()


def _ask(engine: Engine, words: Sequence[str], tag: str, path: Path) -> None:
    command = [engine.name, *(word.format(tag=tag, path=path) for word in words)]
    done = subprocess.run(command, check=False, cwd=ROOT)
    if done.returncode != 0:
        raise ImageError(f"{' '.join(command)} ended with code {done.returncode}: see above")
