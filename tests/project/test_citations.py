"""Every page, clause and anchor that a file names is there.

Clauses are cited as `docs/specification.md §7.3`. Docstrings, comments, messages and pages are all checked.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from tests.project.repository import ROOT, pages, text_files, text_of

SPECIFICATION: Final = "docs/specification.md"
CLAUSE: Final = re.compile(r"§ ?(\d+(?:\.\d+)*)")
HEADING: Final = re.compile(r"(?m)^#{1,6} +(.+?) *$")
LINK: Final = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
PAGE: Final = re.compile(r"(?<![\w./-])(docs/(?:[\w.-]+/)*[\w-]+\.md)\b")
NOT_OURS: Final = re.compile(r"\b(?:DESIGN|design page|STYLE|CLUSTER\.md|ECOSYSTEM\.md|KINDS\.md|PEERS\.md)\b")
THIS: Final = "tests/project/test_citations.py"


@cache
def anchors_of(name: str) -> frozenset[str]:
    """What a link may name after #, as the forges make it from headings: lower case, no punctuation, - for a space."""
    found: dict[str, int] = {}
    for heading in HEADING.findall(re.sub(r"(?ms)^```.*?^```", "", text_of(name))):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = found[slug] = found.get(slug, -1) + 1
        if count:
            found[f"{slug}-{count}"] = 0
    return frozenset(found)


def clauses() -> frozenset[str]:
    """The numbers of all headings of the specification."""
    return frozenset(re.findall(r"(?m)^##+ (\d+(?:\.\d+)*) ", text_of(SPECIFICATION)))


def dead_links() -> Iterator[str]:
    for page in pages():
        for target in LINK.findall(text_of(page)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            there = page if not path else (Path(page).parent / path).as_posix()
            resolved = (ROOT / there).resolve()
            if not resolved.exists():
                yield f"{page}: {target} is not there"
            elif anchor and anchor not in anchors_of(resolved.relative_to(ROOT).as_posix()):
                yield f"{page}: {target} has no such heading"


def test_every_cited_clause_is_in_the_specification() -> None:
    known = clauses()
    dead = [f"{name}: §{each}" for name in text_files() for each in CLAUSE.findall(text_of(name)) if each not in known]
    assert (len(known) > 60, dead) == (True, [])


UNCITED: Final = frozenset({"3.1", "3.10", "4.9"})
"""Clauses that no one module holds."""


def test_every_clause_about_behaviour_is_cited_in_the_code() -> None:
    cited = {each for name in text_files() if name.endswith(".py") for each in CLAUSE.findall(text_of(name))}
    held = {each for each in clauses() if "." in each and 2 <= int(each.partition(".")[0]) <= 9}
    left = {each for each in held if each not in cited and each.partition(".")[0] not in cited}
    assert sorted(left - UNCITED) == []


def test_citation_names_its_page() -> None:
    """In code, a line that names a clause also names the specification; a page that names clauses links to it."""
    nameless = [
        f"{name}:{number}"
        for name in text_files()
        if name not in (SPECIFICATION, THIS)
        for number, line in enumerate(text_of(name).splitlines(), 1)
        if CLAUSE.search(line) and not _says_of_what(name, line)
    ]
    assert nameless == []


def _says_of_what(name: str, line: str) -> bool:
    if name.endswith(".md"):
        return "](specification.md" in text_of(name) or "specification.md)" in text_of(name)
    return "specification.md" in line or "spec §" in line


def test_no_file_cites_a_missing_page() -> None:
    dead = [f"{name}: {found}" for name in text_files() if name != THIS for found in NOT_OURS.findall(text_of(name))]
    assert dead == []


def test_every_page_that_is_named_exists() -> None:
    named = {(name, page) for name in text_files() for page in PAGE.findall(text_of(name))}
    dead = sorted(f"{name}: {page}" for name, page in named if not (ROOT / page).is_file())
    assert (len(named) > 5, dead) == (True, [])


def test_every_module_that_a_page_names_exists() -> None:
    named = {(page, path) for page in pages() for path in re.findall(r"`([\w./-]+\.py)`", text_of(page))}
    dead = [f"{page}: {path}" for page, path in sorted(named) if not any(_ends(name, path) for name in text_files())]
    assert (len(named) > 20, dead) == (True, [])


def _ends(name: str, path: str) -> bool:
    return name == path or name.endswith(f"/{path}")


def test_every_link_leads_somewhere() -> None:
    assert list(dead_links()) == []
