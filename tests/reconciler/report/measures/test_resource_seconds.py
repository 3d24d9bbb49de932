"""Borrowed and lent amounts over time: they add up, and unpromised capacity is lent by no group."""

import pytest

from reconciler.report.measures.resource_seconds import Flow, ResourceSeconds, flows_below
from shared.cluster.state.faults.register import Faults
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from tests.builders import NOW, after, running, world
from tests.trees import KEY

LENDING = "root 8\n  a 4\n  b 4"


def flows(found: World, parent: str = "root") -> dict[str, Flow]:
    return {name: by_key[KEY] for name, by_key in flows_below(measure(found, NOW), parent).items() if by_key}


@pytest.mark.parametrize(
    ("tree", "used", "expected"),
    [
        pytest.param(
            LENDING, {"a": 1, "b": 6}, {"a": Flow(0, 2), "b": Flow(2, 0)}, id="one lends what another borrows"
        ),
        pytest.param(
            "root 7\n  a 4\n  b 2", {"a": 1, "b": 4}, {"a": Flow(0, 1), "b": Flow(2, 0)}, id="free room first"
        ),
        pytest.param("root 9\n  a 4\n  b 2", {"b": 5}, {"b": Flow(3, 0)}, id="free room alone"),
        pytest.param(
            "root 12\n  a 4\n  b 4 l1\n  c 4",
            {"c": 9},
            {"a": Flow(0, 4), "b": Flow(0, 1), "c": Flow(5, 0)},
            id="in proportion to what each may lend",
        ),
        pytest.param(LENDING, {"a": 4, "b": 4}, {}, id="nothing flows"),
    ],
)
def test_borrowed_and_lent_amounts_of_siblings(tree: str, used: dict[str, int], expected: dict[str, Flow]) -> None:
    assert flows(world(tree, [running(group, amount, group) for group, amount in used.items()])) == expected


def test_parent_passes_on_what_its_children_borrow() -> None:
    found = world("root 8\n  p/ 4\n    c 2\n    d 2\n  q 4", [running("c", 6, "c")])
    assert flows(found) == {"p": Flow(2, 0), "q": Flow(0, 2)}
    assert flows(found, "p") == {"c": Flow(4, 0), "d": Flow(0, 2)}


def test_resource_seconds_add_up_over_time() -> None:
    sums = ResourceSeconds(Faults())
    lent = measure(world(LENDING, [running("b", 6, "b")]), NOW)
    sums.sample(lent, NOW)
    assert sums.totals == {}
    sums.sample(lent, after(1.5))
    assert sums.totals == {("b", KEY): Flow(3000, 0), ("a", KEY): Flow(0, 3000)}
    back = measure(world(LENDING, [running("b", 4, "b")]), after(2))
    sums.sample(back, after(2))
    sums.sample(back, after(60))
    assert sums.totals == {("b", KEY): Flow(4000, 0), ("a", KEY): Flow(0, 4000)}


def test_deleted_group_is_no_longer_counted() -> None:
    sums = ResourceSeconds(Faults())
    sums.sample(measure(world(LENDING, [running("b", 6, "b")]), NOW), NOW)
    sums.sample(measure(world("root 8\n  b 4", [running("b", 6, "b")]), NOW), after(1))
    sums.sample(measure(world("root 8\n  b 4", [running("b", 6, "b")]), NOW), after(2))
    assert sums.totals == {("b", KEY): Flow(4000, 0)}
