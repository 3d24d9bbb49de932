"""Writes the table of classes in docs/glossary.md: `python -m dev.generate.glossary`.

Name, room and meaning come from the code: the first sentence of the docstring. The last column, the words of other
projects, is kept as it stands on the page; a new class gets an empty one to fill in.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/glossary.md"
ROOMS: Final = ("shared/quota", "shared/api")
_BEGINS: Final = "\n## Classes\n"
_HEAD: Final = """
The public classes of the engine (`quota`) and of the typed views on Kubernetes objects (`api`), written by
`python -m dev.generate.glossary` from the code. Only the last column is written by hand.

| class | room | meaning | elsewhere |
|---|---|---|---|
"""
_ROW: Final = re.compile(r"(?m)^\| `(\w+)` \| .* \| (.*) \|$")
_SENTENCE: Final = re.compile(r"(.+?[.:;])(?:\s|$)", re.DOTALL)


class Noun(NamedTuple):
    """One public class: where it is defined and what its docstring says first."""

    name: str
    room: str
    meaning: str


def nouns() -> Iterator[Noun]:
    """Yield every public class at the top of a module in these rooms."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    yield Noun(node.name, _room_of(path), _meaning(ast.get_docstring(node) or ""))


def _room_of(path: Path) -> str:
    """`quota.decide` for all below shared/quota/decide, `api` for shared/api."""
    return ".".join(path.relative_to(ROOT / "shared").parent.parts[:2])


def _meaning(docstring: str) -> str:
    sentence = _SENTENCE.match(docstring)
    text = " ".join((sentence[1] if sentence else docstring).split())
    return re.sub(r" \(docs/.*\)$", "", text.rstrip(".:;")).replace("|", "\\|")


def page(written: str) -> str:
    """Return the page with its table of classes as the code has it."""
    by_hand, _, table = written.partition(_BEGINS)
    peers_words = {name: words.strip() for name, words in _ROW.findall(table)}
    found = sorted(set(nouns()), key=lambda noun: (noun.name.lower(), noun.room))
    rows = (f"| `{each.name}` | {each.room} | {each.meaning} | {peers_words.get(each.name, '')} |\n" for each in found)
    return f"{by_hand.rstrip()}\n{_BEGINS}{_HEAD}{''.join(rows)}"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
