"""The page of rules is what the code says, and every code on it is tested where it says."""

from pathlib import Path

import pytest

from dev.generate import rules

ROOT = Path(rules.PAGE).parent.parent
ROWS = [*rules.group_rows(), *rules.group_warnings(), *rules.flavor_rows(), *rules.work_rows(), *rules.work_warnings()]


def test_rules_page_matches_the_registries() -> None:
    assert rules.PAGE.read_text() == rules.page()


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.code}-{row.check.__name__}" for row in ROWS])
def test_each_rule_has_a_description_and_a_test_where_the_page_says(row: rules.Row) -> None:
    assert row.holds.endswith((".", ")")), row.holds
    assert row.code in (ROOT / row.test).read_text()


def test_sources_are_given_only_for_existing_rules() -> None:
    assert rules.SOURCES.keys() <= {row.code for row in ROWS}
