"""What a change makes the engine look at does not grow with the cluster, but for the look at each leaf that waits.

Counted are the groups and workloads that any function of the engine is given, not time: `python -m
benchmarks.engine.growth` measures that.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from types import FrameType
from typing import Final

import pytest

from shared.quota.decide.plan import plan
from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.workload import Workload
from shared.quota.outlook.simulate.step import advance
from tests.builders import after, pending
from tests.shared.quota.decide.plan_words import given
from tests.trees import group

LEAVES: Final = 5
LEAF: Final = "p1-2"


@dataclass(slots=True)
class Visits:
    """What functions of the engine were given, by name."""

    groups: set[str] = field(default_factory=set)
    workloads: set[str] = field(default_factory=set)


@contextmanager
def visited(names: frozenset[str]) -> Iterator[Visits]:
    """Which groups of these names, and which workloads, are given to a function meanwhile."""
    found = Visits()

    def trace(frame: FrameType, _event: str, _argument: object) -> None:
        code = frame.f_code
        if "/shared/quota/" not in code.co_filename:
            return
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            value = frame.f_locals.get(name)
            if isinstance(value, Workload):
                found.workloads.add(value.key)
            elif isinstance(value, str) and value in names:
                found.groups.add(value)

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield found
    finally:
        sys.settrace(before)


def cluster(parents: int, waiting: int) -> World:
    """So many parents of five leaves; all is in use, and so many more workloads wait in each leaf."""
    drawn = f"root {10 * parents}\n" + "\n".join(
        f"p{parent}/ 10\n" + "\n".join(f"  p{parent}-{leaf} 2" for leaf in range(LEAVES)) for parent in range(parents)
    )
    work = [
        pending(f"p{parent}-{leaf}", 1, f"p{parent}-{leaf}-{each}", created=after(each))
        for parent in range(parents)
        for leaf in range(LEAVES)
        for each in range(waiting + 2)
    ]
    return given(drawn, work)


def _end(world: World) -> World:
    return world.with_changes([(world.workload_sets[LEAF].admitted[0], None)])


def _arrive(world: World) -> World:
    return world.with_changes([(None, pending(LEAF, 1, "new", created=after(50)))])


def _edit(world: World) -> World:
    return replace(world, tree=world.tree.with_group(group(f"{LEAF} 2 w3", "p1")))


CHANGES: Final[dict[str, Callable[[World], World]]] = {"end": _end, "arrival": _arrive, "edit": _edit}


def visits(change: str, parents: int, waiting: int) -> tuple[Visits, Visits]:
    """What is looked at to measure and to decide after the change, in a cluster at rest."""
    world, cache, snapshot = cluster(parents, waiting), CycleCache(), None
    for number in count(100):
        now = after(number)
        snapshot = measure(world, now, snapshot)
        decided = plan(snapshot, cache)
        world = advance(world, decided, now)
        if decided.is_idle:
            break
    world = CHANGES[change](world)
    names = frozenset(world.tree.groups)
    with visited(names) as measuring:
        snapshot = measure(world, now, snapshot)
    with visited(names) as deciding:
        plan(snapshot, cache)
    return measuring, deciding


@pytest.mark.parametrize("change", CHANGES)
def test_no_change_makes_the_engine_look_at_more_workloads_in_a_larger_cluster(change: str) -> None:
    small, large = visits(change, 4, 6), visits(change, 16, 24)
    assert [each.workloads for each in large] == [each.workloads for each in small]
    assert max(len(each.workloads) for each in large) <= 2


@pytest.mark.parametrize("change", ["end", "arrival"])
def test_groups_on_the_path_of_a_workload_are_measured_and_no_others(change: str) -> None:
    measuring, _ = visits(change, 16, 6)
    assert measuring.groups == {LEAF, "p1", "root"}


@pytest.mark.parametrize("change", CHANGES)
def test_deciding_looks_once_below_each_child_of_root_and_not_at_its_leaves(change: str) -> None:
    _, deciding = visits(change, 16, 6)
    assert deciding.groups == {LEAF, "root", *(f"p{parent}" for parent in range(16))}


def test_an_edit_of_one_group_is_measured_in_the_whole_tree() -> None:
    """Weights and limits bear on all; what it costs is in docs/benchmarks.md."""
    measuring, _ = visits("edit", 16, 6)
    assert len(measuring.groups) == 16 * (LEAVES + 1) + 1
