"""The text of many violations stays within its limit."""

from dataclasses import replace

import pytest

from shared.quota.model.rules import Violation, write_violations

ONE = Violation("MinAboveMax", "QuotaGroup/a", "spec.quotas[0].min", "min is above max")


def test_findings_are_listed_one_a_line() -> None:
    assert write_violations([ONE, ONE]) == f"{ONE.text}\n{ONE.text}"
    assert ONE.text == "QuotaGroup 'a' spec.quotas[0].min: min is above max (MinAboveMax)"


def test_findings_beyond_the_limit_are_counted() -> None:
    text = write_violations([ONE] * 500)
    assert len(text.encode()) <= 4096
    lines = text.splitlines()
    assert lines[-1] == f"… and {500 - len(lines) + 1} more"
    assert set(lines[:-1]) == {ONE.text}


def test_finding_that_is_too_long_is_cut_at_a_whole_character() -> None:
    long = Violation("Cycle", "QuotaGroup/a", "", "ü" * 5000)
    assert len(write_violations([long]).encode()) <= 4096


def test_finding_that_fits_exactly_is_not_cut_off() -> None:
    limit = len(f"{ONE.text}\n… and 2 more".encode())
    assert write_violations([ONE] * 3, limit) == f"{ONE.text}\n… and 2 more"
    two = len(f"{ONE.text}\n{ONE.text}\n… and 3 more".encode())
    assert write_violations([ONE] * 3, two) == f"{ONE.text}\n{ONE.text}\n… and 1 more"
    assert write_violations([ONE] * 2, len(f"{ONE.text}\n{ONE.text}")) == f"{ONE.text}\n{ONE.text}"
    assert write_violations([ONE] * 3, limit - 1) == f"{ONE.text[:-1]}\n… and 2 more"


@pytest.mark.parametrize(
    ("excess", "before", "worse"),
    [(2, 1, True), (1, 1, False), (None, 1, False), (1, None, False), (None, None, False)],
)
def test_finding_is_worse_than_the_same_with_less_excess(
    excess: int | None, before: int | None, *, worse: bool
) -> None:
    assert replace(ONE, excess=excess).is_worse_than(replace(ONE, excess=before)) is worse
    assert replace(ONE, excess=excess, message="other").is_worse_than(replace(ONE, excess=None))
