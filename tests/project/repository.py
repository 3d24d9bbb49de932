"""The repository as text: which files it has, what they say, and which public classes its rooms define."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
ROOMS: Final = ("shared", "webhook", "reconciler", "cli", "dashboard")
TEXT: Final = frozenset({".md", ".py", ".yaml", ".toml", ".json", ".txt", ".tpl", ".html", ".js", ""})


@cache
def text_files() -> tuple[str, ...]:
    """All text files, by their path from the root; what tools leave behind is passed over."""
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.suffix in TEXT and path.is_file())
    return tuple(sorted(path.as_posix() for path in found if not any(_is_left_behind(part) for part in path.parts)))


def _is_left_behind(part: str) -> bool:
    return (part.startswith(".") and part != ".ci") or part in ("__pycache__", "build", "dist")


@cache
def text_of(name: str) -> str:
    """The whole text of a file."""
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def pages() -> list[str]:
    """All Markdown pages."""
    return [name for name in text_files() if name.endswith(".md")]


def public_aliases(*rooms: str) -> Iterator[tuple[str, str]]:
    """(name, file) of every public alias of a type at the top of a module in these rooms, such as `Json`."""
    for file in text_files():
        if file.endswith(".py") and any(file.startswith(f"{room}/") for room in rooms):
            for node in ast.parse(text_of(file)).body:
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp | ast.Name):
                    names = [target.id for target in node.targets if isinstance(target, ast.Name)]
                    # Constants are written in capitals; two modules may each have a KEY.
                    yield from ((name, file) for name in names if name[0].isupper() and not name.isupper())


def public_classes(*rooms: str) -> Iterator[tuple[str, str]]:
    """(class, file) of every public class at the top of a module in these rooms."""
    for name in text_files():
        if name.endswith(".py") and any(name.startswith(f"{room}/") for room in rooms):
            for node in ast.parse(text_of(name)).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    yield node.name, name
