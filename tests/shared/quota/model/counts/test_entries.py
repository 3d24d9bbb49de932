"""Which groups have counts: those that name one, and all above and below them."""

from collections.abc import Mapping

import pytest

from shared.api.names import COUNTS
from shared.quota.model.counts.entries import counts_in, counts_on_path, with_counts
from shared.quota.model.read.groups import read_group
from shared.quota.model.tree import DEFAULT_FLAVOR, Entry, Tree
from tests.trees import tree

ORGANISATION = """
research/ 4
  vision 2 | counts:workloads ..5
    vision-a 1
    vision-b 1
  nlp 2
product 4
"""


@pytest.mark.parametrize(
    ("drawn", "counted"),
    [
        (ORGANISATION, {"vision": {"workloads"}, "vision-a": {"workloads"}, "vision-b": {"workloads"}}),
        (ORGANISATION.replace("product 4", "product 4 | counts:pods 1"), {"nlp": set(), "product": {"pods"}}),
        (f"root 8 | counts:pods 9\n{ORGANISATION}", {"nlp": {"pods"}, "vision-a": {"pods", "workloads"}}),
    ],
    ids=["below it", "each for itself", "root binds all"],
)
def test_workloads_of_a_leaf_count_as_what_a_group_on_its_path_names(
    drawn: str, counted: Mapping[str, set[str]]
) -> None:
    found = tree(drawn)
    assert {name: counts_on_path(found.get, name) for name in counted} == counted


def test_groups_above_and_below_pass_a_count_on_without_a_bound_of_their_own() -> None:
    found = with_counts(tree(ORGANISATION))
    unbounded = Entry(COUNTS, min={"workloads": 0})
    assert {name: group.entry(COUNTS) for name, group in found.groups.items()} == {
        "root": None,
        "research": unbounded,
        "vision": Entry(COUNTS, max={"workloads": 5}),
        "vision-a": unbounded,
        "vision-b": unbounded,
        "nlp": None,
        "product": None,
    }


def test_tree_that_names_no_count_is_left_as_it_is() -> None:
    found = tree("research/ 4\n  vision 2")
    assert with_counts(found) is found


def test_groups_that_have_not_changed_are_the_same_objects() -> None:
    before = with_counts(tree(ORGANISATION))
    assert with_counts(tree(ORGANISATION), before) is not before
    drawn = tree(ORGANISATION)
    known = with_counts(drawn)
    assert with_counts(drawn, known) is known
    edited = with_counts(drawn.with_group(tree("product 5")["product"]), known)
    assert all(edited[name] is known[name] for name in ("research", "vision", "vision-a", "nlp"))


@pytest.mark.parametrize(
    ("quotas", "read"),
    [
        ([{"max": {"pods": 4}}], (Entry(COUNTS, max={"pods": 4}),)),
        (
            [{"min": {"cpu": 1, "pods": 2}, "max": {"cpu": 2}}, {"flavor": "t4", "min": {"cpu": 1}}],
            (
                Entry(DEFAULT_FLAVOR, min={"cpu": 1000}, max={"cpu": 2000}),
                Entry("t4", min={"cpu": 1000}),
                Entry(COUNTS, min={"pods": 2}),
            ),
        ),
        (
            [{"max": {"cpu": 2, "workloads": "50%"}}],
            (Entry(DEFAULT_FLAVOR, max={"cpu": 2000}), Entry(COUNTS, percents={"max": {"workloads": 50_000}})),
        ),
    ],
    ids=["alone", "among the resources of default", "a percent"],
)
def test_counts_are_read_as_an_entry_of_their_own(quotas: list[dict[str, object]], read: tuple[Entry, ...]) -> None:
    group = read_group({"metadata": {"name": "team"}, "spec": {"quotas": quotas}})
    assert (group.quotas, group.unread) == (read, ())


def test_group_with_a_loop_above_it_is_no_trouble() -> None:
    found = Tree.of(tree("a/ 1 ^b | counts:pods 1\nb/ 1 ^a").groups.values())
    assert counts_in(with_counts(found)["b"]) == {"pods"}
