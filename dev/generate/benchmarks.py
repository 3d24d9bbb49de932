"""Writes docs/benchmarks.md and docs/sizing.md from docs/benchmarks/results.json: `python -m dev.generate.benchmarks`.

The text is in benchmarks/pages; `make bench` measures again and writes the results.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.results.filling import filled
from benchmarks.results.results import Results, read_results

_ROOT: Final = Path(__file__).parents[2]
TEMPLATES: Final = _ROOT / "benchmarks" / "pages"
DOCS: Final = _ROOT / "docs"


def pages(results: Results) -> Iterator[tuple[Path, str]]:
    """Yield each page with its text."""
    for template in sorted(TEMPLATES.glob("*.md.in")):
        yield DOCS / template.name.removesuffix(".in"), filled(template.read_text(), results)


def main() -> None:
    """Write the pages."""
    for path, text in pages(read_results()):
        path.write_text(text)


if __name__ == "__main__":
    main()
