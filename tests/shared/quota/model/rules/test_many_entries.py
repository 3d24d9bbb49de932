"""A group with more entries than may be is told so once: no other rule looks at each of them."""

import time
from dataclasses import replace

import pytest

from shared.quota.model import rules
from shared.quota.model.rules import Context
from shared.quota.model.tree import Entry
from tests.trees import tree

MANY = 10_000
TREE = tree("root 20\n  p/ 7\n    a 3")
ENTRIES = {
    "of as many flavors": tuple(Entry(f"f{each}", min={"cpu": 1}) for each in range(MANY)),
    "of one flavor": tuple(Entry("default", min={"cpu": 2}, max={"cpu": 1}) for _ in range(MANY)),
    "that overlap": tuple(Entry(f"f{each}", min={"cpu": 1, f"r{each}": 1}) for each in range(MANY)),
}


@pytest.mark.parametrize("quotas", ENTRIES.values(), ids=ENTRIES)
def test_too_many_entries_are_one_violation_that_is_found_at_once(quotas: tuple[Entry, ...]) -> None:
    whole = TREE.with_group(replace(TREE["a"], quotas=quotas))
    began = time.process_time()
    found = (
        *rules.check_tree(whole, Context()).violations,
        *rules.check_change(TREE, whole, "a", Context()).violations,
    )
    assert time.process_time() - began < 5  # what compares each with each takes minutes
    assert [(each.rule, each.field) for each in found if each.object == "QuotaGroup/a"] == [
        ("TooManyEntries", "spec.quotas"),
        ("TooManyEntries", "spec.quotas"),
    ]
