"""A group's runtime step by step: every table adds up to what was measured, in random worlds and after changes."""

from dataclasses import replace
from random import Random

import pytest

from shared.quota.measure.division_table import division_tables
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.workload import Turn
from tests.builders import NOW, after, in_main, pending, world
from tests.shared.quota.measure.random_worlds import changed_world, random_world


def check(snapshot: Snapshot) -> int:
    """Compare every row of every table with the measured runtime; how many there were."""
    rows = 0
    for group in snapshot.world.tree.groups:
        for table in division_tables(snapshot, group):
            assert sum(row.runtime for row in table.rows) + table.left == table.runtime
            for row in table.rows:
                assert row.runtime == snapshot.numbers[row.group][table.key].runtime, (group, table)
                rows += 1
    return rows


@pytest.mark.parametrize("seed", range(60))
def test_every_table_adds_up_to_the_measured_runtimes(seed: int) -> None:
    dice = Random(seed)
    snapshot = measure(random_world(dice), NOW)
    rows = check(snapshot)
    for step in range(4):
        snapshot = measure(changed_world(dice, snapshot.world), after(step), snapshot)
        rows += check(snapshot)
    assert rows > 0


def test_floors_come_first_and_rounds_follow_the_weights() -> None:
    """Seed 001: what A does not need of the rest is dealt again."""
    groups = "root 100\n  a 10 w40\n  b 15 w60\n  c 20 w50\n  d 15 w80"
    requests = {"a": 5, "b": 20, "c": 40, "d": 70}
    found = world(groups, [pending(name, amount, name) for name, amount in requests.items()])
    (table,) = division_tables(measure(found, NOW), "a")
    rows = {row.group: (row.floor, row.first, list(row.rounds), row.runtime) for row in table.rows}
    assert (table.parent, table.runtime, table.short, table.left) == ("root", 100, False, 0)
    assert {name: row[:2] for name, row in rows.items()} == {"a": (5, 5), "b": (15, 15), "c": (20, 20), "d": (15, 15)}
    assert {name: row[3] for name, row in rows.items()} == {"a": 5, "b": 20, "c": 35, "d": 40}
    assert len(rows["d"][2]) == 2


def test_a_shortage_is_shared_by_min() -> None:
    groups = "root 50\n  a 40\n  b 40"
    found = world(groups, [pending("a", 40, "one"), pending("b", 40, "two")])
    (table,) = division_tables(measure(found, NOW), "b")
    assert table.short
    assert [(row.floor, row.first, row.runtime) for row in table.rows] == [(40, 0, 25), (40, 0, 25)]


def test_root_and_groups_outside_the_tree_have_no_table() -> None:
    snapshot = measure(world("root 8\n  a 4\nlost 4 ^absent"), NOW)
    assert division_tables(snapshot, "root") == []
    assert division_tables(snapshot, "lost") == []


def test_a_turn_is_named_where_it_counts_and_nowhere_else() -> None:
    """What the mins leave goes to the group with the turn first; memory is divided as always."""
    waiting = pending("b", {"gpu": 3, "memory": 1}, "large", created=after(-7200))
    large = replace(waiting, turn=Turn(in_main({"gpu": "default", "memory": "default"}), NOW))
    small = [pending("a", {"gpu": 1, "memory": 1}, f"small{number}") for number in range(4)]
    leaf = "default:gpu 0 w1 default:memory 4"
    groups = f"root default:gpu 4 default:memory 9\n  a {leaf}\n  b {leaf}"
    tables = division_tables(measure(world(groups, [large, *small]), NOW), "b")
    assert [(table.key.resource, table.turn) for table in tables] == [("gpu", "b"), ("memory", "")]
    assert check(measure(world(groups, [large, *small]), NOW)) > 0
