"""What a first decision costs with many flavors, counted in calls of the engine's functions.

Every workload has a size of its own, and each could take every flavor.
"""

from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.tree import Tree
from tests.builders import after, pending
from tests.shared.quota.decide.cost.counted_calls import counted_calls
from tests.shared.quota.decide.plan_words import given
from tests.trees import tree

LEAVES, WAITING = 4, 25


def _calls(flavors: int) -> tuple[int, int]:
    """Return the calls to measure and to decide where so many flavors together have room for all workloads."""
    names = [f"f{number}" for number in range(flavors)]
    quotas = " | ".join(f"{name}:cpu {1000 // flavors}" for name in names)
    drawn: Tree = tree("\n".join(f"leaf-{leaf} {quotas}" for leaf in range(LEAVES)))
    work = [
        pending(f"leaf-{leaf}", {"cpu": 10 + number}, f"{leaf}-{number}", created=after(number))
        for leaf in range(LEAVES)
        for number in range(WAITING)
    ]
    capacity = tuple((name, "cpu", LEAVES * 1000 // flavors) for name in names)
    world = given(drawn, work, map(Flavor, names), capacity=capacity)
    with counted_calls() as measuring:
        snapshot = measure(world, after(100))
    with counted_calls() as deciding:
        plan(snapshot)
    return len(measuring), len(deciding)


def test_first_decision_with_many_flavors_costs_no_more_than_its_bound() -> None:
    measuring, deciding = _calls(20)
    assert measuring <= 8_700
    assert deciding <= 28_600
