"""The search for rest in its short form, and every world in which something was once found; CI searches more."""

from pathlib import Path

import pytest

from tests.prove.__main__ import FOUND, compare_one, search_one
from tests.prove.rest.searching import flaws
from tests.prove.worlds.manifests import read_world


@pytest.mark.parametrize("hundred", range(3))
def test_random_worlds_without_arrivals_come_to_rest_and_no_cycle_breaks_a_rule(hundred: int) -> None:
    found = [search_one(2, number) for number in range(100 * hundred, 100 * hundred + 100)]

    assert [outcome for outcome in found if outcome[1]] == []


def test_large_random_trees_are_measured_like_the_reference_also_after_changes() -> None:
    assert [outcome for outcome in (compare_one(2, number) for number in range(40)) if outcome[1]] == []


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.yaml")), ids=lambda path: path.stem)
def test_worlds_that_once_failed_pass(path: Path) -> None:
    assert list(flaws(read_world(path.read_text()))) == []
