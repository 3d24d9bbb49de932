"""Which engine builds the image, and what it is asked: by programs that stand for the engines and note their words."""

from pathlib import Path

import pytest

from dev.image import engines
from dev.image.errors import ImageError

PROGRAM = """#!/bin/sh
echo "$(basename "$0") $*" >>"$NOTES"
case "$1" in info) exit $ANSWERS;; from) echo made-1;; run) cat;; rm) ;; esac
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the words are noted; docker, podman and buildah are there and answer."""
    for engine in engines.ENGINES:
        program = tmp_path / "bin" / engine.name
        program.parent.mkdir(exist_ok=True)
        program.write_text(PROGRAM)
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    monkeypatch.setenv("ANSWERS", "0")
    monkeypatch.delenv("ENGINE", raising=False)
    return tmp_path / "notes"


def _engine(name: str) -> engines.Engine:
    (found,) = [engine for engine in engines.ENGINES if engine.name == name]
    return found


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize(("wanted", "chosen"), [("", "docker"), ("podman", "podman"), ("none", None)])
def test_an_engine_is_chosen_by_its_name(monkeypatch: pytest.MonkeyPatch, wanted: str, chosen: str | None) -> None:
    monkeypatch.setenv("ENGINE", wanted)
    found = engines.answering()
    assert (found.name if found else None) == chosen


@pytest.mark.usefixtures("notes")
def test_named_engine_must_be_reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERS", "1")
    assert engines.answering() is None
    monkeypatch.setenv("ENGINE", "buildah")
    with pytest.raises(ImageError, match="ENGINE=buildah does not answer here"):
        engines.answering()


@pytest.mark.parametrize("name", [engine.name for engine in engines.ENGINES])
def test_image_is_saved_under_the_name_that_the_cluster_pulls(notes: Path, name: str) -> None:
    engines.build(_engine(name), "quotree:1", notes.parent / "image.tar", lambda _: None)
    asked = notes.read_text().splitlines()
    assert len(asked) == 2
    assert all("docker.io/library/quotree:1" in words for words in asked)


def test_build_uses_the_base_image_and_package_index_of_the_environment(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in engines.BUILD_ARGUMENTS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BASE", "mirror.example.com/python:3.13-slim")
    monkeypatch.setenv("PIP_INDEX_URL", "https://packages.example.com/simple")
    engines.build(_engine("podman"), "quotree:1", notes.parent / "image.tar", lambda _: None)
    assert notes.read_text().splitlines()[0] == (
        "podman build --tag docker.io/library/quotree:1 --build-arg BASE --build-arg PIP_INDEX_URL ."
    )


def test_check_runs_in_a_temporary_buildah_container(notes: Path) -> None:
    assert engines.run_python(_engine("buildah"), "quotree:1", "print()") == "print()"
    assert notes.read_text().splitlines() == [
        "buildah from docker.io/library/quotree:1",
        "buildah run made-1 -- python -",
        "buildah rm made-1",
    ]
