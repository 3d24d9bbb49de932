"""The oracle notices a start that a plan leaves out, and asks for none that a rule is against."""

from dataclasses import replace

import pytest

from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.tree import QueueingStrategy, Tree
from shared.quota.model.workload import Workload
from tests.builders import NOW, after, pending, running, world
from tests.shared.quota.judging.oracle import missed_starts
from tests.trees import tree

SMALL = tree("""
root 2
  a 2
  b 0
""")
LARGE = tree("""
root 6
  a 2
  b 0
""")
FULL = running("a", 2, "full")


def strict(groups: Tree) -> Tree:
    return groups.with_group(replace(groups["a"], queueing=QueueingStrategy.STRICT_FIFO))


def missed(small: Tree, large: Tree, *work: Workload) -> list[str]:
    """What the oracle says where there is more room than the plan was made for."""
    decided = plan(measure(world(small, work), NOW))
    return missed_starts(measure(world(large, work), NOW), decided)


@pytest.mark.parametrize("group", ["a", "b"])
def test_start_that_a_plan_leaves_out_is_noticed(group: str) -> None:
    (found,) = missed(SMALL, LARGE, FULL, pending(group, 3, "missed"))
    assert found.startswith("ns/missed waits, and fits in {'main': {'gpu': 'default'}}")


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(pending("b", 5), id="no room"),
        pytest.param(pending("b", 3, preemptible=False), id="not preemptible, beyond min"),
        pytest.param(pending("b", 3, hold=True), id="held"),
    ],
)
def test_no_start_is_asked_for_against_a_rule(work: Workload) -> None:
    assert missed(SMALL, LARGE, FULL, work) == []


def test_no_start_is_asked_for_behind_a_strict_head() -> None:
    work = [FULL, pending("a", 5, "head", created=after(-9)), pending("a", 1, "behind")]
    assert missed(strict(SMALL), strict(LARGE), *work) == []
    (found,) = missed(SMALL, LARGE, *work)
    assert found.startswith("ns/behind waits")
