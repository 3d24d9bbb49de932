"""Every remedy is true and minimal: the change is made in other words than the engine's, and the start is seen."""

from typing import Any

import pytest

from shared.quota.decide.advise.json_output import remedy_as_data
from shared.quota.decide.advise.remedies import advise
from shared.quota.decide.explain.explanation import explain
from shared.quota.decide.explain.pending_reasons import PendingReasons
from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from tests.builders import NOW, pending, running, world
from tests.prove.remedies import check


@pytest.mark.parametrize("seed", range(24))
def test_remedies_are_true_legal_minimal_and_complete(seed: int) -> None:
    assert check(seed)[1] == []


def test_worlds_have_remedies() -> None:
    assert sum(check(seed)[0] for seed in range(4)) > 10


ROOT_MAX = {"do": "RaiseMax", "group": "root", "flavor": "default", "resource": "gpu", "by": 1}


def remedies_of(of: World, name: str) -> list[dict[str, Any]]:
    snapshot = measure(of, NOW)
    decided = plan(snapshot)
    (found,) = [each.workload for each in PendingReasons(decided) if each.workload.key == f"ns/{name}"]
    return [remedy_as_data(each) for each in advise(snapshot, explain(snapshot, decided, found)).remedies]


def test_min_is_raised_together_with_the_ancestors_whose_sum_it_would_exceed() -> None:
    given = world("root 8\n  a 4\n    b 4\n  c", [running("c", 3), pending("b", 5, "new", preemptible=False)])
    found = remedies_of(given, "new")
    key = {"flavor": "default", "resource": "gpu"}
    parent = {"do": "RaiseMin", "group": "a", **key, "by": 1}
    assert [each for each in found if each["do"] == "RaiseMin"] == [
        {"do": "RaiseMin", "group": "b", **key, "by": 1, "and": [parent]}
    ]


def test_what_is_held_and_has_no_room_needs_both() -> None:
    given = world("root 4\n  a 4", [running("a", 4, "other"), pending("a", 1, "new", hold=True)])
    resume = {"do": "Resume", "workload": "ns/new"}
    assert remedies_of(given, "new")[0] == {
        "do": "AddCapacity", "flavor": "default", "resource": "gpu", "by": 1, "and": [ROOT_MAX, resume],
    }  # fmt: skip


def test_a_stopped_group_is_resumed() -> None:
    given = world("root 4\n  a/ 4 hold\n    b 4", [pending("b", 1, "new")])
    assert remedies_of(given, "new") == [{"do": "Resume", "group": "a"}]


def test_what_starts_anyway_needs_nothing() -> None:
    given = world("root 4\n  a 4\n  b", [running("b", 4, "other"), pending("a", 1, "new")])
    assert remedies_of(given, "new") == []


def test_a_workload_that_is_not_preemptible_lacks_min() -> None:
    given = world("root 8\n  a 2\n  b 4", [pending("a", 3, "new", preemptible=False)])
    found = remedies_of(given, "new")
    assert {"do": "RaiseMin", "group": "a", "flavor": "default", "resource": "gpu", "by": 1} in found
    assert {each["do"] for each in found} == {"RaiseMin", "ShrinkRequest"}


def test_amounts_too_large_to_scan_are_found_exactly() -> None:
    size = 1 << 30
    given = world(f"root {4 * size}\n  a {4 * size}", [running("a", 3 * size, "other"), pending("a", size + 77, "new")])
    found = remedies_of(given, "new")
    assert {"do": "ShrinkRequest", "resource": "gpu", "by": 77, "workload": "ns/new"} in found
    assert {each["by"] for each in found if each["do"] == "AddCapacity"} == {77}
