"""Writes docs/benchmarks.md, its pictures and docs/sizing.md: `python -m benchmarks.results.pages`.

The figures are in docs/benchmarks: results.json, and by_hand.json for what is measured by hand. The text is in
benchmarks/pages; `make bench` measures again.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.results.filling import filled
from benchmarks.results.pictures import pictures
from benchmarks.results.results import BY_HAND, Results, read_results

_ROOT: Final = Path(__file__).parents[2]
TEMPLATES: Final = _ROOT / "benchmarks" / "pages"
DOCS: Final = _ROOT / "docs"


def pages(results: Results, by_hand: Results) -> Iterator[tuple[Path, str]]:
    """Yield each page and each picture with its text."""
    for template in sorted(TEMPLATES.glob("*.md.in")):
        yield DOCS / template.name.removesuffix(".in"), filled(template.read_text(), results, by_hand)
    for name, picture in (*pictures(results), *pictures(by_hand)):
        yield DOCS / "benchmarks" / name, picture


def main() -> None:
    """Write them."""
    for path, text in pages(read_results(), read_results(BY_HAND)):
        path.write_text(text)


if __name__ == "__main__":
    main()
