"""One group's limits: what is absent is inherited or derived, what is 0 is 0."""

import pytest

from shared.quota.model.limits import (
    NO_CAPS,
    Limits,
    caps_below,
    covered_keys,
    is_capped_by_capacity,
    limits_of,
    root_limits,
)
from shared.resources import FlavorResource
from tests.trees import KEY, tree

CAPACITY = {KEY: 100}


@pytest.mark.parametrize(
    ("line", "limits"),
    [
        ("a 6..8", Limits(6, 8, guarantee=0, ceiling=8, weight=8)),
        ("a ..8", Limits(0, 8, guarantee=0, ceiling=8, weight=8)),
        ("a 6", Limits(6, 100, guarantee=0, ceiling=100, weight=100)),
        ("a 6..8 b1", Limits(6, 8, guarantee=0, ceiling=7, weight=8)),
        ("a 6..8 b9", Limits(6, 8, guarantee=0, ceiling=8, weight=8)),
        ("a 6 b0", Limits(6, 100, guarantee=0, ceiling=6, weight=100)),
        ("a 6..8 l2", Limits(6, 8, guarantee=4, ceiling=8, weight=8)),
        ("a 6..8 l0", Limits(6, 8, guarantee=6, ceiling=8, weight=8)),
        ("a 6..8 l9", Limits(6, 8, guarantee=0, ceiling=8, weight=8)),
        ("a 6..8 keep", Limits(6, 8, guarantee=6, ceiling=8, weight=8)),
        ("a 6..8 l6 keep", Limits(6, 8, guarantee=0, ceiling=8, weight=8)),
        ("a 6..8 w0", Limits(6, 8, guarantee=0, ceiling=8, weight=0)),
        ("a 0..0", Limits()),
    ],
    ids=str,
)
def test_entry_has_its_limits(line: str, limits: Limits) -> None:
    assert limits_of(tree(line)["a"], NO_CAPS, CAPACITY) == {KEY: limits}


def test_absent_max_is_that_of_the_nearest_ancestor_then_the_capacity_of_root() -> None:
    found = tree("root 90\n p 4..50\n  q 4 | t4:gpu 2..7\n   a 2 | t4:gpu 1")
    below_root = caps_below(found["root"], NO_CAPS)
    below_p = caps_below(found["p"], below_root)
    below_q = caps_below(found["q"], below_p)
    other = FlavorResource("t4", "gpu")
    assert (below_root, below_p, below_q) == ({KEY: 90}, {KEY: 50}, {KEY: 50, other: 7})
    assert caps_below(found["a"], below_q) is below_q
    of_a = limits_of(found["a"], below_q, CAPACITY)
    assert {key: (limits.max, limits.weight) for key, limits in of_a.items()} == {KEY: (50, 50), other: (7, 7)}
    assert limits_of(found["p"], NO_CAPS, {})[KEY] == Limits(4, 50, ceiling=50, weight=50)
    assert limits_of(found["a"], NO_CAPS, {})[KEY] == Limits(2)


def test_root_is_limited_by_its_capacity() -> None:
    assert root_limits(tree("root 90")["root"], KEY, 100) == Limits(0, 90, ceiling=90, weight=90)
    assert root_limits(tree("root 90")["root"], KEY, 60) == Limits(0, 90, ceiling=60, weight=90)
    assert root_limits(tree("root")["root"], KEY, 60) == Limits(0, 60, ceiling=60)


def test_covered_keys_are_in_the_order_of_the_entries() -> None:
    group = tree("a t4:memory 4 t4:cpu ..3 | default:gpu 1")["a"]
    assert list(map(str, covered_keys(group))) == ["t4/cpu", "t4/memory", "default/gpu"]


@pytest.mark.parametrize(
    ("line", "inherits", "key", "is_capped"),
    [
        pytest.param("a 6", False, KEY, True, id="no max anywhere"),
        pytest.param("a 6..8", False, KEY, False, id="a max of its own"),
        pytest.param("a 6", True, KEY, False, id="a max that it inherits"),
        pytest.param("a 6", False, FlavorResource("default", "cpu"), False, id="another resource"),
        pytest.param("a 6", False, FlavorResource("t4", "gpu"), False, id="another flavor"),
    ],
)
def test_group_without_a_max_is_capped_by_the_capacity_alone(
    line: str, inherits: bool, key: FlavorResource, is_capped: bool
) -> None:
    group = tree(line)["a"]
    assert is_capped_by_capacity(group, {KEY: 9} if inherits else NO_CAPS, key) is is_capped
    changes = limits_of(group, {KEY: 9} if inherits else NO_CAPS, {key: 50})
    assert (changes != limits_of(group, {KEY: 9} if inherits else NO_CAPS, {key: 70})) is is_capped
