"""`python -m dev.mutants`: mutants of the engine drawn by a seed, and those that the pure tests do not notice.

Each mutant runs in a checkout of its own below a temporary folder, so that nothing here is ever changed. First every
pure test file is run once, to learn which functions it calls; a mutant is then tried against the files that call the
mutated function, the quickest first. Exit code 1 when fewer than `--least` percent are killed.
"""

import argparse
import ast
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Final

from dev.mutants.calls import TestFile, pytest_command, trace
from dev.mutants.mutations import Mutant, count_sites, enclosing_function, mutant

ROOT: Final = Path(__file__).parents[2]
COPIED: Final = (
    "cli",
    "dev",
    "reconciler",
    "shared",
    "tests",
    "webhook",
    "charts",
    "docs",
    "examples",
    "pyproject.toml",
)
PURE_TESTS: Final = (
    "tests/shared/quota",
    "tests/webhook/workloads",
    "tests/reconciler/state",
    "tests/cli/test_check.py",
    "tests/cli/test_explain.py",
    "tests/cli/test_scenarios.py",
    "tests/cli/test_what_if.py",
    "tests/prove/test_search.py",
)
SPARE: Final = 60
"""Seconds that tests may run beyond twice what tracing them took; a mutant that makes them run longer is noticed."""
EQUIVALENT: Final = Path(__file__).with_name("equivalent.txt")
"""Survivors that change nothing, each with the reason why: `path: change: function-line text | reason`."""


def draw(seed: int, number: int) -> list[Mutant]:
    """That many different mutants of `shared/quota`, every site with the same chance."""
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "shared/quota").rglob("*.py"))
    sources = {path: (ROOT / path).read_text() for path in files}
    sites = [(path, index) for path in files for index in range(count_sites(sources[path]))]
    chosen = random.Random(seed).sample(sites, min(number, len(sites)))  # noqa: S311 - reproducible, not secret
    return [mutant(path, sources[path], index) for path, index in chosen]


def tests_of(each: Mutant, files: Sequence[TestFile]) -> list[TestFile]:
    """Return the files that reach the mutant, the quickest first; code outside functions is reached by all."""
    first = enclosing_function(ast.parse((ROOT / each.path).read_text()), each.line)
    reaching = [file for file in files if first is None or (each.path, first) in file.calls]
    return sorted(reaching, key=lambda file: file.seconds)


def survives(each: Mutant, checkout: Path, tests: Sequence[TestFile]) -> bool:
    """Return whether these tests pass with the mutant in place. A run that does not end fails: a loop is endless."""
    if not tests:
        return True
    target = checkout / each.path
    original = target.read_text()
    target.write_text(each.source)
    try:
        command, limit = pytest_command([file.path for file in tests]), SPARE + 2 * sum(file.seconds for file in tests)
        done = subprocess.run(command, cwd=checkout, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return False
    finally:
        target.write_text(original)
    return done.returncode == 0


def _pure_test_files() -> list[str]:
    found = [path for place in PURE_TESTS for path in sorted(_files_of(ROOT / place))]
    return [path.relative_to(ROOT).as_posix() for path in found]


def _files_of(place: Path) -> Iterable[Path]:
    return place.rglob("test_*.py") if place.is_dir() else [place]


def _checkouts(folder: Path, number: int) -> "Queue[Path]":
    found: Queue[Path] = Queue()
    for index in range(number):
        checkout = folder / f"checkout-{index}"
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                checkout.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, checkout / name)
        found.put(checkout)
    return found


def known_equivalents() -> dict[str, str]:
    """Survivor -> why it changes nothing."""
    lines = (line for line in EQUIVALENT.read_text().splitlines() if line and not line.startswith("#"))
    return {key.strip(): reason.strip() for key, _, reason in (line.partition("|") for line in lines)}


def key_of(each: Mutant) -> str:
    """Return how `equivalent.txt` names a mutant: by the text of its line, which outlives a shift of line numbers."""
    text = (ROOT / each.path).read_text().splitlines()[each.line - 1].strip()
    return f"{each.path}: {each.what}: {text.replace('|', '/')}"


def main() -> int:
    """Draw, run, report."""
    parser = argparse.ArgumentParser(prog="python -m dev.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--least", type=int, default=95, help="percent that must be killed")
    options = parser.parse_args()
    began, equivalent = time.monotonic(), known_equivalents()
    drawn = draw(options.seed, options.number)
    alive: list[Mutant] = []
    with tempfile.TemporaryDirectory(prefix="quotree-mutants-") as folder:
        free = _checkouts(Path(folder), options.workers)

        @contextmanager
        def a_checkout() -> Iterator[Path]:
            checkout = free.get()
            try:
                yield checkout
            finally:
                free.put(checkout)

        def traced(path: str) -> TestFile:
            with a_checkout() as checkout:
                return trace(path, checkout)

        def run(each: Mutant) -> tuple[Mutant, bool]:
            with a_checkout() as checkout:
                return each, survives(each, checkout, tests_of(each, files))

        with ThreadPoolExecutor(options.workers) as pool:
            files = list(pool.map(traced, _pure_test_files()))
            broken = [file.path for file in files if not file.passes]
            if broken:
                print(f"these tests fail without any mutant: {', '.join(broken)}", file=sys.stderr)
                return 1
            seconds = time.monotonic() - began
            print(f"{len(files)} test files traced in {seconds:.0f} s", file=sys.stderr, flush=True)
            for done, (each, is_alive) in enumerate(pool.map(run, drawn), start=1):
                if is_alive:
                    alive.append(each)
                    reason = equivalent.get(key_of(each))
                    print(f"survives: {key_of(each)}" + (f" | {reason}" if reason else ""), flush=True)
                if done % 10 == 0:
                    seconds = time.monotonic() - began
                    print(f"{done}/{len(drawn)} in {seconds:.0f} s, {len(alive)} survive", file=sys.stderr, flush=True)
    unexplained = [each for each in alive if key_of(each) not in equivalent]
    killed = len(drawn) - len(alive)
    percent = 100 * killed // max(1, len(drawn))
    print(f"{len(drawn)} mutants, {killed} killed ({percent} %), {len(alive)} survive, {len(unexplained)} unexplained")
    return 0 if percent >= options.least and not unexplained else 1


if __name__ == "__main__":
    sys.exit(main())
