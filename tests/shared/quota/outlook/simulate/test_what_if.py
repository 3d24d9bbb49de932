"""What an edit would change, and what of it depends on which evicted workloads end first."""

from dataclasses import replace
from typing import Any

import pytest

from shared.quota.measure.inputs.world import World
from shared.quota.outlook.simulate.end_orders import ORDERS
from shared.quota.outlook.simulate.run import SimulationRun, run
from shared.quota.outlook.simulate.what_if import Prediction, predict, predict_in_steps, prediction_as_data
from tests.builders import NOW, after, evicting, pending, running, world
from tests.trees import tree

BEFORE = "root 8\n  a 0\n  b 0\n  c 0\n  d 0"
DRAINED = "root 8\n  a 0\n  b 0 drain\n  c 0\n  d 0"
LARGE_AND_SMALL = (
    running("b", 3, "b0"),
    running("b", 5, "b1"),
    pending("c", 7, "large", created=after(-60)),
    pending("d", 5, "small"),
)
"""c and d have a runtime of 4 each: neither of the two that wait is entitled."""


def predicted(*workloads: object) -> Prediction:
    given: World = world(BEFORE, workloads)  # type: ignore[arg-type]
    return predict(given, replace(given, tree=tree(DRAINED)), NOW)


def names(found: Prediction) -> tuple[list[str], list[str], list[str]]:
    stops = [each.evict.workload.key for each in found.stops]
    return [each.key for each in found.starts], stops, [each.key for each in found.depends or ()]


def test_starts_in_freed_room_can_depend_on_the_order_of_ends() -> None:
    """The large one is older; a small one that fits first takes what the large one needs."""
    found = predicted(*LARGE_AND_SMALL)
    assert names(found) == (["ns/large"], ["ns/b0", "ns/b1"], ["ns/large", "ns/small"])
    assert prediction_as_data(found)["depends"] == [
        {"workload": "ns/large", "group": "c"},
        {"workload": "ns/small", "group": "d"},
    ]


def test_starts_that_fit_in_any_order_do_not_depend_on_it() -> None:
    running_ones = running("b", 3, "b0"), running("b", 5, "b1")
    assert names(predicted(*running_ones, pending("c", 5, "new"))) == (["ns/new"], ["ns/b0", "ns/b1"], [])


def test_single_stop_has_no_order() -> None:
    assert names(predicted(running("b", 8, "b0"), *LARGE_AND_SMALL[2:])) == (["ns/large"], ["ns/b0"], [])


def test_pending_evictions_can_end_in_any_order() -> None:
    ending = [evicting(each) for each in LARGE_AND_SMALL[:2]]
    given = world(DRAINED, [*ending, *LARGE_AND_SMALL[2:]])
    assert names(predict(given, given, NOW)) == ([], [], ["ns/large", "ns/small"])


def test_first_result_tries_no_orders() -> None:
    given = world(BEFORE, LARGE_AND_SMALL)
    first, whole = predict_in_steps(given, replace(given, tree=tree(DRAINED)), NOW)
    assert (first.depends, replace(first, depends=whole.depends)) == (None, whole)
    assert prediction_as_data(first)["depends"] is None


def test_every_order_ends_all_workloads_and_both_orders_of_two_are_tried() -> None:
    many = [evicting(running("b", 1, f"b{number}")) for number in range(30)]
    for order in ORDERS:
        left = [*many]
        for _ in range(60):
            ended = [*order(left)] if left else []
            assert bool(ended) == bool(left)
            left = [each for each in left if each not in ended]
        assert left == []
    first, second = ([each.key for each in order(many[:2])] for order in ORDERS[:2])
    assert sorted(first + second) == ["ns/b0", "ns/b1"]


def test_workloads_that_request_different_resources_end_in_some_order() -> None:
    given = [
        evicting(running("b", {"cpu": 1}, "b0")),
        evicting(running("b", {"cpu": 1, "gpu": 1}, "b1")),
    ]
    assert [len([*order(given)]) for order in ORDERS] == [1] * len(ORDERS)


@pytest.mark.parametrize("unsettled", [0, 1], ids=["without the edit", "with it"])
def test_prediction_is_stable_only_if_both_runs_come_to_rest(unsettled: int, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[SimulationRun] = []

    def stopped(*given: Any, **fields: Any) -> SimulationRun:
        runs.append(run(*given, **fields))
        return replace(runs[-1], settled=len(runs) - 1 != unsettled)

    assert predicted().stable
    monkeypatch.setattr("shared.quota.outlook.simulate.what_if.run", stopped)
    assert not predicted().stable
