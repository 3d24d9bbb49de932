"""Mutants that a test notices are killed, those that no test reaches survive, and no file is changed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dev.mutants.__main__ import Report
from dev.mutants.mutations import mutant
from dev.mutants.trials import TEST_FAILED, Outcome, outcome_of

ROOT = Path(__file__).parents[3]
TABLES = "tests/shared/quota/measure/test_division_table.py"
# Few and quick: what they find is theirs; here it is tried that mutants meet them.
TRIED = (
    f"{TABLES}::test_floors_come_first_and_rounds_follow_the_weights",
    f"{TABLES}::test_a_turn_is_named_where_it_counts_and_nowhere_else",
)


@pytest.mark.parametrize(
    ("exitcode", "outcome"),
    [
        (0, Outcome.SURVIVES),
        (TEST_FAILED, Outcome.KILLED),
        (-signal.SIGSEGV, Outcome.KILLED),
        (-signal.SIGPROF, Outcome.ENDLESS),
    ],
)
def test_only_a_run_without_failure_lets_a_mutant_survive(exitcode: int, outcome: Outcome) -> None:
    assert outcome_of(exitcode) is outcome


def test_run_that_fails_by_itself_kills_no_mutant() -> None:
    with pytest.raises(RuntimeError, match="could not be tried"):
        outcome_of(1)


def test_mutants_that_were_not_tried_are_not_taken_for_killed() -> None:
    report = Report(2)
    one = mutant("f.py", "def f(a, b):\n    return a + b\n", 0)
    report.add(one, Outcome.KILLED)
    assert report.end(95) == 1
    report.add(one, Outcome.KILLED)
    assert report.end(95) == 0


def test_mutants_are_tried_on_the_tests_that_reach_them() -> None:
    table, least = _run("shared/quota/measure/division_table.py"), _run("shared/quota/outlook/advise/smallest.py")
    assert table.returncode == 0, table.stdout
    assert "4 of 4 mutants: 4 killed (100 %)" in table.stdout
    assert least.returncode == 1
    assert "4 of 4 mutants: 0 killed (0 %)" in least.stdout


def _run(within: str) -> "subprocess.CompletedProcess[str]":
    options = ["--within", within, "--number", "4", "--seed", "1", "--workers", "1"]
    command = [sys.executable, "-m", "dev.mutants", *TRIED, *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=150)
