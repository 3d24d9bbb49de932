"""Who of a leaf is recycled next. docs/specification.md §7.4."""

from datetime import timedelta

import pytest

from shared.quota.decide.recycling_order import RecyclingOrder
from shared.quota.decide.state.leaf_usage import running_in_order
from shared.quota.model.workload import Workload, WorkloadId
from shared.resources import Amount, FlavorResource
from tests.builders import NOW, after, running
from tests.shared.quota.decide.plan_words import name

GPU = FlavorResource("default", "gpu")
WORK = (
    running("a", {"gpu": 2}, "new", since=after(-10)),
    running("a", {"gpu": 1, "cpu": 1}, "both", since=after(-20)),
    running("a", {"cpu": 1}, "other", since=after(-30)),
    running("a", {"gpu": 2}, "old", since=after(-40)),
    running("a", {"gpu": 1}, "high", since=after(-5), priority=1),
)
"""The least important first."""


def _order(evicted: set[WorkloadId], exempt: int = 0, work: tuple[Workload, ...] = WORK) -> RecyclingOrder:
    return RecyclingOrder(running_in_order(work), evicted, NOW, timedelta(seconds=exempt))


def _first(order: RecyclingOrder, key: FlavorResource, amount: Amount) -> list[str]:
    return [name(each.workload) for each in order.first(key, amount)]


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (1, ["new"]),
        (2, ["new"]),
        (3, ["new", "both"]),
        (4, ["new", "both", "old"]),
        (9, ["new", "both", "old", "high"]),
    ],
)
def test_as_many_are_returned_as_use_the_amount(amount: Amount, expected: list[str]) -> None:
    assert _first(_order(set()), GPU, amount) == expected


def test_of_one_start_the_last_of_the_queue_comes_first() -> None:
    work = tuple(running("a", 1, each, since=NOW, created=after(place)) for place, each in enumerate("xyz"))
    assert _first(_order(set(), work=work), GPU, 3) == ["z", "y", "x"]


def test_evicted_ones_are_passed_over_wherever_they_are() -> None:
    evicted = {WORK[0].id}
    order = _order(evicted)
    assert _first(order, GPU, 1) == ["both"]
    evicted.add(WORK[3].id)
    assert _first(order, GPU, 9) == ["both", "high"]


def test_restored_ones_are_found_again() -> None:
    evicted = {WORK[0].id, WORK[1].id}
    order = _order(evicted, exempt=8)
    assert (_first(order, GPU, 2), [name(each.workload) for each in order.first_ready(GPU, 2)]) == (["old"], ["old"])
    evicted.clear()
    order.restart()
    assert (_first(order, GPU, 2), [name(each.workload) for each in order.first_ready(GPU, 2)]) == (["new"], ["new"])


def test_those_that_are_exempt_are_not_returned_together_with_others() -> None:
    order = _order(set(), exempt=15)
    assert _first(order, GPU, 9) == ["new"]
    assert [name(each.workload) for each in order.first_ready(GPU, 9)] == ["both", "old"]
    assert order.exempt_ends(GPU) == after(5)
    assert _first(_order({WORK[0].id}, exempt=15), GPU, 9) == ["both", "old"]
