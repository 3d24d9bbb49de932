"""Every link from one page to another leads to a file, and to a heading of it; sizing has the benchmarks' figures."""

import re
from pathlib import Path

import pytest

from tests.project.repository import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "charts/quotree/README.md"]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FIGURE = re.compile(r"\d[\d.,]* (?:ms|MiB)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors that a Markdown viewer makes of the headings."""
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(page.read_text()))
    return {each.strip().replace(" ", "-") for each in words}


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere; those to other sites are not followed."""
    found = []
    for target in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        if not place.exists() or (anchor and anchor not in anchors(place)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_has_a_target(page: Path) -> None:
    assert broken(page) == []


def test_sizing_has_the_figures_of_the_benchmarks_that_it_links_to() -> None:
    sections = (ROOT / "docs/benchmarks.md").read_text().split("\n## ")
    rows = [
        row for row in (ROOT / "docs/sizing.md").read_text().splitlines() if "](benchmarks.md#" in row and "|" in row
    ]
    assert len(rows) > 2
    for row in rows:
        command = row.partition("](benchmarks.md#")[2].partition(")")[0].rpartition("-")[2]
        (section,) = [each for each in sections if f"`{command}`" in each.partition("\n")[0]]
        assert {figure for figure in FIGURE.findall(row) if figure not in section} == set(), row
