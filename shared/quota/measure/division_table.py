"""How a group comes to its runtime, step by step: a table of its parent's children, for one key, that adds up.

See docs/specification.md §3.7 and §14.4.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.quota.measure.fair_share import Sibling, divide_in_steps
from shared.quota.measure.group_usage import Numbers
from shared.quota.measure.snapshot import Snapshot
from shared.quota.measure.turns.division import siblings_with_turn
from shared.quota.measure.turns.levels import Level
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True)
class DivisionRow:
    """One child: what it starts from, what it gets before the rounds and in each, and its runtime: their sum."""

    group: str
    numbers: Numbers
    floor: Amount
    first: Amount
    rounds: Sequence[Amount]

    @property
    def runtime(self) -> Amount:
        """Return the sum of all steps."""
        return self.first + sum(self.rounds)


@dataclass(frozen=True, slots=True)
class DivisionTable:
    """How the runtime of `parent` is divided for one key.

    `short`: the floors exceed it, and the rounds share it in proportion to min; else the rounds share what the floors
    leave in proportion to weight. `left`: what no child wants.
    """

    parent: str
    key: FlavorResource
    runtime: Amount
    short: bool
    rows: Sequence[DivisionRow]
    turn: str = ""
    """The child that has a turn: it gets what that needs first, and the others share the rest. Empty: none."""

    @property
    def left(self) -> Amount:
        """Return what is not dealt; below 0 where more is in use that cannot be reclaimed than there is."""
        return self.runtime - sum(row.runtime for row in self.rows)


def division_tables(snapshot: Snapshot, group: str) -> list[DivisionTable]:
    """Return the tables in which `group` has a row, by key; none for root and for groups that do not reach it."""
    tree_index = snapshot.measurement.leaf_snapshots.static.tree_index
    parent = tree_index.parents.get(group)
    if parent is None:
        return []
    children = tree_index.children[parent]
    return [_table(snapshot, parent, children, key) for key in sorted(snapshot.numbers.get(group, {}))]


def _table(snapshot: Snapshot, parent: str, children: Sequence[str], key: FlavorResource) -> DivisionTable:
    past_use = snapshot.world.past_use
    numbers = {name: snapshot.numbers[name][key] for name in children if key in snapshot.numbers[name]}
    runtime = snapshot.numbers[parent][key].runtime
    siblings = [Sibling(name, each, past_use.get(name, {}).get(key, 0)) for name, each in numbers.items()]
    level = next((each for each in _levels(snapshot) if (each.parent, each.key) == (parent, key)), None)
    if level is not None or runtime != snapshot.before_turns.of(parent, key).runtime:
        siblings = siblings_with_turn(snapshot.before_turns, parent, level, key, past_use)
    steps = divide_in_steps(runtime, siblings)
    rows = [
        DivisionRow(name, each, each.floor, steps.first[name], [dealt[name] for dealt in steps.rounds])
        for name, each in sorted(numbers.items())
    ]
    return DivisionTable(parent, key, runtime, steps.short, rows, "" if level is None else level.child)


def _levels(snapshot: Snapshot) -> Iterator[Level]:
    return (level for holder in snapshot.turns.holders.values() for level in holder.levels)


def table_as_data(table: DivisionTable) -> Mapping[str, Any]:
    """Return the table as `quotree explain GROUP -o json` prints it."""
    return {
        "parent": table.parent,
        "flavor": table.key.flavor,
        "resource": table.key.resource,
        "runtime": table.runtime,
        "sharedBy": "min" if table.short else "weight",
        **({"turn": table.turn} if table.turn else {}),
        "children": [
            {
                "group": row.group,
                "min": row.numbers.min,
                "guarantee": row.numbers.guarantee,
                "nonPreemptible": row.numbers.non_preemptible,
                "used": row.numbers.used,
                "demand": row.numbers.demand,
                "weight": row.numbers.weight,
                "floor": row.floor,
                "first": row.first,
                "rounds": list(row.rounds),
                "runtime": row.runtime,
            }
            for row in table.rows
        ],
        "left": table.left,
    }
