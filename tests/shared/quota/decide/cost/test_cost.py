"""What a cycle costs follows what has changed, not what exists: counted in calls of the engine's functions.

The counts repeat themselves, but for the order of sets. Who makes a cycle cheaper lowers the bounds; who must raise one
says why.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.tree import ReclaimOverrides, Tree, WhenCanBorrow
from shared.quota.outlook.simulate.step import advance
from shared.resources import FlavorResource
from tests.builders import after, pending
from tests.shared.quota.decide.cost.counted_calls import counted_calls
from tests.shared.quota.decide.plan_words import given
from tests.trees import group, tree

PARENTS, LEAVES, WAITING = 12, 10, 8
FLAVORS = (Flavor("a"), Flavor("b"))
SORTS = (
    "a:cpu 2 | b:cpu 2 strict",
    "a:cpu 3 | b:cpu 2",
    "a:cpu 2 l1 | b:cpu 2",
    "a:cpu 2 | b:cpu 2",
    "b:cpu 2 w1 | a:cpu 0",
)
FIELDS: dict[str, dict[str, Any]] = {
    "3": {"patience": timedelta(seconds=100)},
    "6": {"reclaim": ReclaimOverrides(ReclaimMode.STRICT)},
    "8": {"when_can_borrow": WhenCanBorrow.BORROW},
}
"""What else some leaves have, by their last digit."""
STEP = timedelta(seconds=10)
FIRST = ((38_400, 293_000), (11_660, 34_000), (3_310, 21_600), (2_540, 12_350), (380, 2_000))
"""The bounds of the decisions that fill the cluster: the first one starts 287 workloads."""


class Process:
    """What goes on from cycle to cycle; `costs`: the calls of each, to measure and to decide."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.costs: list[tuple[int, int]] = []
        self._now: datetime = after(0)
        self._cache = CycleCache()
        self._snapshot: Snapshot | None = None

    def cycle(self) -> Plan:
        """Measure, decide, carry out; 10 seconds pass."""
        with counted_calls() as measuring:
            self._snapshot = measure(self.world, self._now, self._snapshot)
        with counted_calls() as deciding:
            decided = plan(self._snapshot, self._cache)
        self.costs.append((len(measuring), len(deciding)))
        self.world, self._now = advance(self.world, decided, self._now), self._now + STEP
        return decided


def _cluster() -> World:
    """Two flavors for 120 leaves of five sorts; more work waits everywhere than could ever run."""
    drawn = tree(
        "\n".join(
            f"p{parent}/ a:cpu 40 | b:cpu 40\n"
            + "\n".join(f"  p{parent}-{leaf} {SORTS[leaf % len(SORTS)]}" for leaf in range(LEAVES))
            for parent in range(PARENTS)
        )
    )
    groups = (replace(each, **FIELDS.get(name[-1], {})) for name, each in drawn.groups.items())
    names = [f"p{parent}-{leaf}" for leaf in range(LEAVES) for parent in range(PARENTS)]
    work = [
        pending(name, {"cpu": 2 + each % 4}, f"{name}-{each}", created=after(each - 99), priority=each % 2)
        for name in names
        for each in range(WAITING)
    ]
    capacity = tuple((flavor.name, "cpu", 40 * PARENTS) for flavor in FLAVORS)
    nodes = {flavor.name: ({"cpu": 100},) for flavor in FLAVORS}
    return replace(given(Tree.of(groups), work, FLAVORS, capacity=capacity), largest_nodes=nodes)


def _end(world: World) -> World:
    return world.with_changes([(world.workload_sets["p7-7"].admitted[0], None)])


def _arrive(leaf: str, **fields: int) -> Callable[[World], World]:
    return lambda world: world.with_changes([(None, pending(leaf, {"cpu": 3}, "new", **fields))])


def _lend(capacity: int) -> Callable[[World], World]:
    return lambda world: replace(world, unmanaged={FlavorResource("a", "cpu"): capacity})


def _edit(world: World) -> World:
    return replace(world, tree=world.tree.with_group(group("p7-7 a:cpu 3 | b:cpu 2", "p7")))


def _list_again(world: World) -> World:
    return replace(world, largest_nodes=dict(world.largest_nodes or {}))


Cost = tuple[int, int]
CHANGES: dict[str, tuple[Callable[[World], World], tuple[Cost, ...]]] = {
    "nothing": (lambda world: world, ((60, 1_690), (60, 1_690), (60, 1_690))),
    "end of a workload": (_end, ((240, 3_700), (500, 2_560), (300, 2_280))),
    "arrival": (_arrive("p7-7"), ((380, 2_020), (60, 1_690), (60, 1_690))),
    "arrival in a strict queue": (_arrive("p7-5"), ((380, 1_900), (60, 1_690), (60, 1_690))),
    "arrival of high priority": (_arrive("p7-8", priority=9), ((380, 2_470), (480, 10_000), (485, 9_120))),
    "nodes that are listed again": (_list_again, ((650, 3_330), (385, 1_970), (60, 1_690))),
    "less capacity": (_lend(4), ((5_000, 13_300), (60, 2_300), (60, 2_300))),
    "edit of a group": (_edit, ((7_700, 21_500), (610, 3_650), (700, 2_980))),
}
"""Each change, and the bounds for the cycle that sees it and the next two: each looks once below every parent."""


def _is_above(cost: Cost, bound: Cost) -> bool:
    return cost[0] > bound[0] or cost[1] > bound[1]


def test_cycle_costs_no_more_than_its_change() -> None:
    process = Process(_cluster())
    while not process.cycle().is_idle:
        pass
    costs = {"first decisions": process.costs}
    for name, (change, _) in CHANGES.items():
        process.world, process.costs = change(process.world), []
        costs[name] = process.costs
        for _ in range(3):
            process.cycle()
    bounds = {"first decisions": FIRST, **{name: most for name, (_, most) in CHANGES.items()}}
    above = {name: found for name, found in costs.items() if any(map(_is_above, found, bounds[name]))}
    assert above == {}
    assert len(costs["first decisions"]) == len(FIRST)
