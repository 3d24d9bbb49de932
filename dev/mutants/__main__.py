"""`python -m dev.mutants`: mutants of the engine drawn by a seed, and those that the pure tests do not notice.

No file is changed. Exit code 1 when fewer than `--least` percent are killed, or when one survives that `equivalent.txt`
does not explain.
"""

import argparse
import random
import sys
import time
from pathlib import Path
from typing import Final

import pytest

from dev.mutants.mutations import Mutant, count_sites, mutant
from dev.mutants.trials import ROOT, Outcome, Trials

PURE_TESTS: Final = (
    "tests/shared/quota",
    "tests/webhook/workloads",
    "tests/shared/cluster/state",
    "tests/cli/files/test_check.py",
    "tests/cli/test_explain.py",
    "tests/cli/files/test_scenarios.py",
    "tests/cli/files/test_what_if.py",
    "tests/prove/test_search.py",
)
PYTEST_OPTIONS: Final = (
    "-q",
    "-s",
    "-n",
    "0",
    "-p",
    "no:cacheprovider",
    "-o",
    "timeout=0",
    "--tb=no",
    "--assert=plain",
)
"""A slow machine must not fail a test by its time limit: CPU time is what limits here."""
EQUIVALENT: Final = Path(__file__).with_name("equivalent.txt")
"""Survivors that change nothing, each with the reason why: `path: change: function-line text | reason`."""


def draw(seed: int, number: int, within: str) -> list[Mutant]:
    """Return that many different mutants of files whose path begins so, every site with the same chance."""
    every = (path.relative_to(ROOT).as_posix() for path in (ROOT / "shared/quota").rglob("*.py"))
    files = sorted(path for path in every if path.startswith(within))
    sources = {path: (ROOT / path).read_text() for path in files}
    sites = [(path, index) for path in files for index in range(count_sites(sources[path]))]
    chosen = random.Random(seed).sample(sites, min(number, len(sites)))  # noqa: S311 - reproducible, not secret
    return [mutant(path, sources[path], index) for path, index in chosen]


def known_equivalents() -> dict[str, str]:
    """Return survivor -> why it changes nothing."""
    lines = (line for line in EQUIVALENT.read_text().splitlines() if line and not line.startswith("#"))
    return {key.strip(): reason.strip() for key, _, reason in (line.partition("|") for line in lines)}


def key_of(each: Mutant) -> str:
    """Return how `equivalent.txt` names a mutant: by the text of its line, which outlives a shift of line numbers."""
    return f"{each.path}: {each.what}: {each.text.replace('|', '/')}"


class Report:
    """Prints survivors as they are found, and counts."""

    def __init__(self, number: int) -> None:
        self._began = time.monotonic()
        self._number = number
        self._equivalent = known_equivalents()
        self._outcomes: list[Outcome] = []
        self._unexplained = 0

    def add(self, each: Mutant, outcome: Outcome) -> None:
        """Count one outcome, and print what is not simply killed."""
        if outcome is Outcome.OPEN:
            print(f"{outcome.value}: {key_of(each)} (line {each.line})", flush=True)
            return
        self._outcomes.append(outcome)
        if outcome is not Outcome.KILLED:
            reason = self._equivalent.get(key_of(each)) if outcome is Outcome.SURVIVES else None
            self._unexplained += outcome is Outcome.SURVIVES and reason is None
            print(
                f"{outcome.value}: {key_of(each)} (line {each.line})" + (f" | {reason}" if reason else ""), flush=True
            )
        if len(self._outcomes) % 10 == 0:
            print(f"{self._summary()} in {time.monotonic() - self._began:.0f} s", file=sys.stderr, flush=True)

    def end(self, least: int) -> int:
        """Return 1 with less than `least` percent killed, a survivor without a reason, or mutants not tried; else 0."""
        print(f"{self._summary()}, {self._unexplained} unexplained")
        is_whole = len(self._outcomes) == self._number
        return 0 if is_whole and self._percent() >= least and not self._unexplained else 1

    def _percent(self) -> int:
        done = len(self._outcomes)
        return 100 * (done - self._outcomes.count(Outcome.SURVIVES)) // max(1, done)

    def _summary(self) -> str:
        done, survive = len(self._outcomes), self._outcomes.count(Outcome.SURVIVES)
        endless = self._outcomes.count(Outcome.ENDLESS)
        return (
            f"{done} of {self._number} mutants: {done - survive} killed ({self._percent()} %), "
            f"{endless} of them by CPU time, {survive} survive"
        )


def main() -> int:
    """Draw, run, report."""
    parser = argparse.ArgumentParser(prog="python -m dev.mutants", description=__doc__)
    parser.add_argument("tests", nargs="*", default=PURE_TESTS, help="files or folders; those of the engine by default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--within", default="shared/quota", help="draw only mutants of files whose path begins so")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--least", type=int, default=95, help="percent that must be killed")
    options = parser.parse_args()
    drawn = draw(options.seed, options.number, options.within)
    report = Report(len(drawn))
    trials = Trials(drawn, options.workers, report.add)
    pytest.main([*PYTEST_OPTIONS, *options.tests], plugins=[trials])
    if trials.failing:
        print(f"these tests fail without any mutant: {', '.join(trials.failing)}", file=sys.stderr)
        return 1
    return report.end(options.least)


if __name__ == "__main__":
    sys.exit(main())
