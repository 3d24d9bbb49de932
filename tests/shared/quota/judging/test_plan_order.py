"""The judge of the order of plans names a preemption in the own group that another flavor would have spared."""

from collections.abc import Iterator
from datetime import timedelta
from unittest.mock import patch

import pytest

from shared.quota.decide.decisions import Plan
from shared.quota.decide.plan import plan
from shared.quota.decide.reclaim.planner import ReclaimPlanner
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from tests.builders import NOW, after, pending, running
from tests.shared.quota.decide.plan_words import given
from tests.shared.quota.judging.oracle import transgressions

GROUPS = "a x:gpu 4 | y:gpu 4\nb x:gpu 0 | y:gpu 0"
CAPACITY = (("x", "gpu", 4), ("y", "gpu", 4))


def _world(borrowed_since: int = -9999) -> World:
    work = [
        running("a", 4, "low", "x", since=after(-9999)),
        running("b", 4, "b1", "y", since=after(borrowed_since)),
        pending("a", 4, "high", priority=1),
    ]
    flavors = (Flavor("x"), Flavor("y"))
    return given(GROUPS, work, flavors, capacity=CAPACITY, exempt_after_start=timedelta(hours=1))


def _found(world: World, decided: Plan) -> list[str]:
    return transgressions(measure(world, NOW), decided)


@pytest.fixture
def in_order() -> Iterator[None]:
    """An engine that takes the first plan."""
    with patch.object(ReclaimPlanner, "_spares_own_group", return_value=False):
        yield


@pytest.mark.usefixtures("in_order")
def test_preemption_that_another_flavor_would_spare_is_named() -> None:
    world = _world()
    assert _found(world, plan(measure(world, NOW))) == [
        "ns/high preempts in {'main': {'gpu': 'x'}}, but only others would give way in {'main': {'gpu': 'y'}}"
    ]


@pytest.mark.usefixtures("in_order")
def test_preemption_where_others_are_exempt_is_not_named() -> None:
    world = _world(borrowed_since=-1)
    assert _found(world, plan(measure(world, NOW))) == []


def test_plan_that_spares_its_own_group_is_not_named() -> None:
    world = _world()
    decided = plan(measure(world, NOW))
    assert ([each.workload.key for each in decided.evictions], _found(world, decided)) == (["ns/b1"], [])
