"""The page of rules is what the code says, and every code on it is tested where it says."""

import re
from pathlib import Path

import pytest

from dev.generate import rules
from dev.generate.unjudged import UNJUDGED, Unjudged

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


@pytest.mark.parametrize("row", UNJUDGED, ids=[each.code for each in UNJUDGED])
def test_each_refusal_without_judgement_is_tested_where_the_page_says(row: Unjudged) -> None:
    assert row.code in (ROOT / row.test).read_text()


def test_every_code_that_the_webhook_itself_answers_is_on_the_page() -> None:
    texts = [path.read_text() for path in sorted((ROOT / "webhook").rglob("*.py"))]
    constants = {name: code for text in texts for name, code in re.findall(r'^([A-Z_]+): Final = "(\w+)"$', text, re.M)}
    given = {each for text in texts for each in re.findall(r'Violation\(\s*"?(\w+)"?,', text)}
    codes = {constants.get(each, each) for each in given if each in constants or not each.isupper()}
    assert {"NotReady", "EditUnderWay"} <= codes
    assert {code for code in codes if f"| `{code}` |" not in rules.page() and code[0].isupper()} == set()
