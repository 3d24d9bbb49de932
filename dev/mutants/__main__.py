"""`python -m dev.mutants`: mutants of the engine drawn by a seed, and those that the pure tests do not notice.

Each mutant runs in a checkout of its own below a temporary folder, so that nothing here is ever changed. The tests
nearest to the mutated file run first, then all pure tests. Exit code 1 when fewer than `--least` percent are killed.
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Final

from dev.mutants.mutations import Mutant, count_sites, mutant

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
PURE_TESTS: Final = ("tests/shared/quota", "tests/cli/test_scenarios.py", "tests/prove/test_search.py")
LONGEST: Final = 600
"""Seconds; a mutant that makes the tests run longer has been noticed."""
EQUIVALENT: Final = Path(__file__).with_name("equivalent.txt")
"""Survivors that change nothing, each with the reason why: `path: change: function-line text | reason`."""


def draw(seed: int, number: int) -> list[Mutant]:
    """That many different mutants of `shared/quota`, every site with the same chance."""
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "shared/quota").rglob("*.py"))
    sources = {path: (ROOT / path).read_text() for path in files}
    sites = [(path, index) for path in files for index in range(count_sites(sources[path]))]
    chosen = random.Random(seed).sample(sites, min(number, len(sites)))  # noqa: S311 - reproducible, not secret
    return [mutant(path, sources[path], index) for path, index in chosen]


def nearest_tests(path: str) -> list[str]:
    """The folder of tests that mirrors the folder of the file, or the nearest one above it that exists."""
    folder = (Path("tests") / path).parent
    while not (ROOT / folder).is_dir():
        folder = folder.parent
    return [folder.as_posix()]


def survives(each: Mutant, checkout: Path) -> bool:
    """Whether all pure tests pass with the mutant in place."""
    target = checkout / each.path
    original = target.read_text()
    target.write_text(each.source)
    try:
        return all(_passes(checkout, tests) for tests in (nearest_tests(each.path), list(PURE_TESTS)))
    finally:
        target.write_text(original)


def _passes(checkout: Path, tests: list[str]) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(command, cwd=checkout, capture_output=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


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
    """How `equivalent.txt` names a mutant: by the text of its line, which outlives a shift of line numbers."""
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

        def run(each: Mutant) -> tuple[Mutant, bool]:
            checkout = free.get()
            try:
                return each, survives(each, checkout)
            finally:
                free.put(checkout)

        with ThreadPoolExecutor(options.workers) as pool:
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
