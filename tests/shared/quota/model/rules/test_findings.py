"""The text of many violations stays within its limit."""

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
