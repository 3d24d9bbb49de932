"""What percents come to: of what, how they are rounded, and what is known without capacity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.percents import WHOLE
from shared.quota.model.amounts.resolution import base_of_root, min_in, resolve
from shared.quota.model.tree import LIMITS, ROOT, Entry, Group, Tree
from shared.resources import FlavorResource
from tests.trees import GPU, KEY, tree


def promised(_key: FlavorResource) -> bool:
    return True


def measured(_key: FlavorResource) -> bool:
    return False


def with_capacity(found: Tree, gpus: int | None) -> Tree:
    capacity = None if gpus is None else {KEY: gpus}
    return resolve(found, base_of_root(found[ROOT], capacity, measured))


def limits(found: Tree, limit: str = "min") -> dict[str, int | None]:
    """Group -> that limit, of all groups but root."""
    return {
        name: getattr(group.quotas[0], limit).get(GPU)
        for name, group in sorted(found.groups.items())
        if name != ROOT and group.quotas
    }


@pytest.mark.parametrize(
    ("text", "capacity", "mins"),
    [
        ("a 50%\nb 50%", 5, {"a": 3, "b": 2}),
        ("a 50%\nb 50%", 6, {"a": 3, "b": 3}),
        ("a 33%\nb 33%\nc 33%", 10, {"a": 3, "b": 3, "c": 3}),
        ("a 33.333%\nb 33.333%\nc 33.334%", 10, {"a": 3, "b": 3, "c": 4}),
        ("a 15%\nb 20%", 10, {"a": 1, "b": 2}),
        ("a 15%\nb 35%", 10, {"a": 2, "b": 3}),
        ("a 0%\nb 100%", 7, {"a": 0, "b": 7}),
        ("a 50%\nb 4", 5, {"a": 2, "b": 4}),
        ("p/ 50%\n  a 50%\n  b 50%", 10, {"p": 5, "a": 3, "b": 2}),
        ("p/ 12\n  a 50%\nq 12", 12, {"p": 12, "q": 12, "a": 3}),
        ("p/ 12\n  a 50%\nq 12", None, {"p": 12, "q": 12, "a": 6}),
        ("p/ 50%\n  a 50%", None, {"p": None, "a": None}),
        ("a 50% ^absent", 10, {"a": None}),
        ("a 50%", 0, {"a": 0}),
        ("p/ ..8\n  a 50%", 10, {"p": None, "a": 0}),
    ],
)
def test_percents_come_to(text: str, capacity: int | None, mins: dict[str, int | None]) -> None:
    assert limits(with_capacity(tree(text), capacity)) == mins


def test_each_limit_is_a_share_of_what_the_parent_has() -> None:
    (entry,) = with_capacity(tree("p/ 20\n  a 20%..150% b25% l10% w300%"), 100)["a"].quotas
    assert [getattr(entry, limit)[GPU] for limit in LIMITS] == [4, 30, 5, 2, 60]


def test_rounding_makes_no_min_above_a_max_that_is_no_less() -> None:
    found = with_capacity(tree("a 50%..50%\nb 30%..100%"), 5)
    assert (limits(found), limits(found, "max")) == ({"a": 3, "b": 1}, {"a": 3, "b": 5})


def test_where_a_min_exceeds_its_max_the_max_counts() -> None:
    (entry,) = with_capacity(tree("a 50%..8"), 30)["a"].quotas
    assert (entry.min[GPU], min_in(entry, GPU)) == (15, 8)


def test_percents_are_of_roots_max_where_its_capacity_is_what_is_promised() -> None:
    bounded, unbounded = tree("root 8\na 50%\nb 3"), tree("a 50%\nb 3")
    assert limits(resolve(bounded, base_of_root(bounded[ROOT], {KEY: 3}, promised))) == {"a": 4, "b": 3}
    assert limits(resolve(unbounded, base_of_root(unbounded[ROOT], {KEY: 3}, promised))) == {"a": None, "b": 3}


def test_groups_without_change_are_the_same_objects() -> None:
    written = tree("p/ 50%\n  a 50%\nb 4")
    before = with_capacity(written, 16)
    after = resolve(written, base_of_root(written[ROOT], {KEY: 17}, measured), before)
    more = resolve(written, base_of_root(written[ROOT], {KEY: 20}, measured), before)
    assert after is before
    assert (more["b"] is before["b"], limits(more)) == (True, {"p": 10, "a": 5, "b": 4})
    assert resolve(tree("a 4"), base_of_root(written[ROOT], None, measured)) is not before
    assert before.children("p") == ("a",)


def test_resolving_again_changes_nothing_and_forgets_what_is_no_longer_known() -> None:
    once = with_capacity(tree("p/ 50%\n  a 50%"), 16)
    assert with_capacity(once, 16).groups == once.groups
    assert limits(with_capacity(once, None)) == {"p": None, "a": None}


def test_percents_in_a_cycle_end() -> None:
    assert limits(with_capacity(tree("a/ 50% ^b\nb/ 50% ^a"), 16)) == {"a": None, "b": None}


@given(st.permutations(range(5)), st.integers(0, 50))
def test_result_does_not_depend_on_the_order_of_the_groups(order: list[int], capacity: int) -> None:
    groups = [
        Group(f"g{at}", quotas=(Entry(KEY.flavor, percents={"min": {GPU: share}}),))
        for at, share in enumerate((12_500, 12_500, 30_000, 20_000, 25_000))
    ]
    found = with_capacity(Tree.of(groups[at] for at in order), capacity)
    mins = limits(found)
    assert mins == limits(with_capacity(Tree.of(groups), capacity))
    assert sum(amount or 0 for amount in mins.values()) == capacity
    assert sum(entry.percents["min"][GPU] for group in groups for entry in group.quotas) == WHOLE
