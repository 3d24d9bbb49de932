"""What an image says of the sources that it was made from."""

import subprocess
from pathlib import Path

import pytest

from dev.image import facts


def git(folder: Path, *words: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(
        ["git", "-C", str(folder), *name, *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_commit_is_named_where_the_sources_are_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "ROOT", tmp_path)
    assert facts.commit() == "", "no repository"
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("dist/\n")
    (tmp_path / "module.py").write_text("")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "ignored").write_text("")
    assert facts.commit() == git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "module.py").write_text("edited")
    assert facts.commit() == "", "edited"
    git(tmp_path, "checkout", "-q", "module.py")
    (tmp_path / "further.py").write_text("")
    assert facts.commit() == "", "a file more, which the wheel would have"
