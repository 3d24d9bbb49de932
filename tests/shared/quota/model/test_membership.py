"""Which namespaces a group admits: by its own selector, an ancestor's, or none; and whom a namespace's label binds."""

from dataclasses import replace

import pytest

from shared.api.core.selectors import LabelSelector
from shared.quota.model.membership import Stop, admits, is_bound_elsewhere, resolve_group, selector_of, stop_of
from shared.quota.model.tree import Group, StopPolicy, Tree
from tests.trees import tree

DRAWN = tree("research/ 8\n  vision 4\n  open 2\nlab/ 2\n  bench 1")


def selecting(name: str, **labels: str) -> Group:
    return replace(DRAWN[name], namespace_selector=LabelSelector(match_labels=labels))


TREE = DRAWN.with_group(selecting("research", team="red")).with_group(selecting("open"))


@pytest.mark.parametrize(
    ("group", "labels", "expected"),
    [
        ("vision", {"team": "red"}, True),
        ("vision", {"team": "blue"}, False),
        ("open", {"team": "blue"}, True),
    ],
    ids=["inherited", "inherited, not met", "its own comes first"],
)
def test_the_nearest_selector_on_the_path_decides(group: str, labels: dict[str, str], expected: bool) -> None:
    assert admits(TREE.get, group, labels, open_groups=False) is expected


def test_setting_decides_without_any_selector() -> None:
    assert selector_of(TREE.get, "bench") is None
    assert [admits(TREE.get, "bench", {}, open_groups=each) for each in (True, False)] == [True, False]


@pytest.mark.parametrize(("label", "expected"), [("bench", True), ("root", True), ("vision", False), ("", False)])
def test_label_of_a_namespace_admits_it_where_no_selector_decides(label: str, expected: bool) -> None:
    assert admits(TREE.get, "bench", {"quotree.dev/group": label}, open_groups=False) is expected


def test_selector_of_root_applies_to_all_groups() -> None:
    closed = TREE.with_group(selecting("root", team="red"))
    assert [admits(closed.get, "bench", {"team": each}, open_groups=True) for each in ("red", "blue")] == [True, False]


@pytest.mark.parametrize(
    ("group", "bound", "expected"),
    [
        ("vision", "vision", False),
        ("vision", "research", False),
        ("vision", "open", True),
        ("bench", "research", True),
        ("vision", "", False),
    ],
    ids=["the same", "below it", "a sibling", "elsewhere", "no label"],
)
def test_label_of_a_namespace_allows_its_group_and_those_below(group: str, bound: str, expected: bool) -> None:
    assert is_bound_elsewhere(TREE.get, group, {"quotree.dev/group": bound}) is expected


def test_strictest_stop_policy_on_the_path_is_in_force_and_the_nearest_among_equals() -> None:
    stopped = tree("p/ close\n  a hold\nq/ hold\n  b\n  c hold\nd")
    assert stop_of(stopped, "a") == Stop(StopPolicy.HOLD, "a")
    assert stop_of(stopped, "b") == Stop(StopPolicy.HOLD, "q")
    assert stop_of(stopped, "c") == Stop(StopPolicy.HOLD, "c")
    assert stop_of(stopped, "d") == Stop()


def test_cycle_of_parents_terminates() -> None:
    circle = Tree.of([replace(DRAWN["research"], parent="lab"), replace(DRAWN["lab"], parent="research")])
    assert selector_of(circle.get, "lab") is None


@pytest.mark.parametrize(
    ("labels", "namespace", "default_group", "expected"),
    [
        ({"quotree.dev/group": "vision"}, {"quotree.dev/group": "open"}, False, "vision"),
        ({}, {"quotree.dev/group": "open"}, False, "open"),
        ({}, {"quotree.dev/managed": "true"}, True, "default"),
        ({}, {"quotree.dev/managed": "true"}, False, None),
        ({}, {}, True, None),
        ({}, {"quotree.dev/managed": "false"}, True, None),
    ],
    ids=["its label", "its namespace's", "default", "no default group", "unmanaged namespace", "managed: false"],
)
def test_workload_belongs_to_the_nearest_named_group(
    labels: dict[str, str], namespace: dict[str, str], default_group: bool, expected: str | None
) -> None:
    assert resolve_group(labels, namespace, default_group=default_group) == expected
