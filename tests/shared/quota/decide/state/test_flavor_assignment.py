"""Which flavor work takes: the order of entries, and the two settings about borrowing and reclaiming."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.quota.decide.decisions import Plan
from shared.quota.decide.state.flavor_assignment import (
    Assignments,
    FlavorAssignment,
    FlavorChoice,
    borrows_first_fitting,
)
from shared.quota.model.flavor import Flavor
from shared.quota.model.tree import WhenCanBorrow, WhenCanReclaim
from shared.quota.model.workload import Workload
from tests.builders import after, pending, running
from tests.shared.quota.decide.plan_words import decide, started_and_evicted, waits
from tests.trees import group, tree

FLAVORS = (Flavor("big"), Flavor("small"))
CAPACITY = (("big", "gpu", 8), ("small", "gpu", 8))
TREE = "a big:gpu 4 | small:gpu 4\nb big:gpu 4 | small:gpu 4"
BORROW_FIRST: dict[str, Any] = {"when_can_borrow": WhenCanBorrow.BORROW}
RECLAIM_FIRST: dict[str, Any] = {"when_can_reclaim": WhenCanReclaim.RECLAIM}


def chosen(
    work: Iterable[Workload],
    groups: str = TREE,
    flavors: Iterable[Flavor] = FLAVORS,
    capacity: tuple[tuple[str, str, int], ...] = CAPACITY,
    **settings: Any,
) -> Plan:
    found = tree(groups)
    fields = {each: settings.pop(each) for each in list(settings) if each.startswith("when_")}
    found = found.with_group(replace(found["a"], **fields))
    return decide(found, work, flavors, capacity=capacity, **settings)


def in_big(group: str, amount: int, name: str, **fields: Any) -> Workload:
    return running(group, amount, name, "big", **fields)


def in_small(group: str, amount: int, name: str, **fields: Any) -> Workload:
    return running(group, amount, name, "small", **fields)


NEW = pending("a", 4, "new")
B_WAITS = pending("b", 8, "b1", only_flavor="big")
"""Makes runtime(a) in `big` 4 while it cannot start itself."""


@pytest.mark.parametrize(
    ("present", "settings", "expected"),
    [
        pytest.param([], {}, (["new entitled big"], []), id="the first entry"),
        pytest.param([in_big("a", 4, "a0"), B_WAITS], {}, (["new entitled small"], []), id="entitled in the next"),
        pytest.param(
            [in_big("a", 4, "a0"), B_WAITS], BORROW_FIRST, (["new opportunistic big"], []), id="borrowing in the first"
        ),
        pytest.param(
            [in_big("a", 4, "a0"), in_small("a", 4, "a1"), B_WAITS, pending("b", 8, "b2", only_flavor="small")],
            {},
            (["new opportunistic big"], []),
            id="entitled nowhere: the first that borrows",
        ),
        pytest.param([in_big("b", 8, "b0")], {}, (["new entitled small"], []), id="full: the next"),
        pytest.param(
            [in_big("b", 8, "b0")], RECLAIM_FIRST, ([], ["b0 Reclaim for new"]), id="full: reclaim before the next"
        ),
        pytest.param(
            [in_big("b", 8, "b0", preemptible=False)],
            RECLAIM_FIRST,
            (["new entitled small"], []),
            id="nothing to reclaim: the next",
        ),
        pytest.param(
            [in_big("a", 4, "a0"), in_small("b", 8, "b0"), B_WAITS],
            RECLAIM_FIRST,
            ([], ["b0 Reclaim for new"]),
            id="reclaim in the next before borrowing in the first",
        ),
        pytest.param(
            [in_big("a", 4, "a0"), B_WAITS],
            BORROW_FIRST | RECLAIM_FIRST,
            (["new opportunistic big"], []),
            id="borrowing in the first before what it is entitled to in the next",
        ),
        pytest.param(
            [in_big("b", 8, "b0"), in_small("b", 8, "b1")], {}, ([], ["b0 Reclaim for new"]), id="both full: the first"
        ),
        pytest.param(
            [in_big("b", 8, "b0", preemptible=False), in_small("b", 8, "b1")],
            {},
            ([], ["b1 Reclaim for new"]),
            id="both full: the first with a complete plan",
        ),
    ],
)
def test_expected_flavor_is_chosen(present: list[Workload], settings: dict[str, Any], expected: object) -> None:
    assert started_and_evicted(chosen([*present, NEW], **settings)) == expected


def test_delayed_reclaim_counts_as_possible_where_reclaim_comes_first() -> None:
    plan = chosen([in_big("b", 8, "b0"), NEW], grace_period=timedelta(minutes=1), **RECLAIM_FIRST)
    assert (started_and_evicted(plan), waits(plan)) == (([], []), {"new": "RoomDelayed"})


def test_only_requested_flavor_is_taken() -> None:
    assert started_and_evicted(chosen([replace(NEW, only_flavor="small")])) == (["new entitled small"], [])


def test_flavor_whose_labels_were_refused_is_skipped() -> None:
    assert started_and_evicted(chosen([replace(NEW, blocked_flavors=frozenset({"big"}))])) == (
        ["new entitled small"],
        [],
    )


SETS = "a big:cpu 4 | small:cpu 4 | fast:gpu 2 | slow:gpu 2"
SET_FLAVORS = tuple(map(Flavor, ("big", "small", "fast", "slow")))
SET_CAPACITY = (("big", "cpu", 4), ("small", "cpu", 4), ("fast", "gpu", 2), ("slow", "gpu", 2))


def in_sets(cpu: int, gpu: int, name: str = "new") -> Workload:
    return pending("a", {"cpu": cpu, "gpu": gpu}, name)


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        pytest.param([], {"cpu": "big", "gpu": "fast"}, id="the first of each set"),
        pytest.param([running("a", {"cpu": 4}, "x", "big")], {"cpu": "small", "gpu": "fast"}, id="one set moves on"),
        pytest.param(
            [running("a", {"cpu": 4}, "x", "big"), running("a", {"gpu": 2}, "y", "fast")],
            {"cpu": "small", "gpu": "slow"},
            id="both move on",
        ),
    ],
)
def test_workload_takes_one_flavor_per_codependent_set(present: list[Workload], expected: object) -> None:
    plan = chosen([*present, in_sets(4, 2)], SETS, SET_FLAVORS, SET_CAPACITY)
    assert [start.flavors for start in plan.starts] == [{"main": expected}]


def test_borrowing_in_one_set_keeps_the_entitled_flavor_in_the_other() -> None:
    groups = """
        a big:cpu 0 w0 | fast:gpu 0 w0 | slow:gpu 2
        b big:cpu 4 | fast:gpu 2 | slow:gpu 0 w0
    """
    plan = chosen([in_sets(4, 2)], groups, SET_FLAVORS, SET_CAPACITY)
    assert [start.flavors for start in plan.starts] == [{"main": {"cpu": "big", "gpu": "slow"}}]


def test_incompatible_flavors_are_not_combined() -> None:
    labels = {"big": {"zone": "1"}, "small": {"zone": "2"}, "fast": {"zone": "2"}, "slow": {"rack": "9"}}
    flavors = [Flavor(name, found) for name, found in labels.items()]
    plan = chosen([in_sets(4, 2)], SETS, flavors, SET_CAPACITY)
    assert [start.flavors for start in plan.starts] == [{"main": {"cpu": "big", "gpu": "slow"}}]
    never = chosen([in_sets(4, 2)], "a big:cpu 4 | fast:gpu 2", flavors[:3], SET_CAPACITY)
    assert waits(never) == {"new": "NoEligibleFlavor"}


def test_workload_starts_only_when_it_fits_every_set() -> None:
    work = [running("a", {"gpu": 2}, "y", "fast"), running("a", {"gpu": 2}, "z", "slow"), in_sets(4, 2)]
    assert started_and_evicted(chosen(work, SETS, SET_FLAVORS, SET_CAPACITY)) == ([], [])


def test_workload_that_prefers_borrowing_reserves_its_own_room_from_other_borrowers() -> None:
    """`new` is entitled in small and may borrow in big; c, older, takes big first, and must not take small as well."""
    groups = "a big:gpu 0 w1 | small:gpu 4\nc big:gpu 0 w1 | small:gpu 0 w0\nb big:gpu 8"
    older = {"created": after(-9)}
    work = [pending("a", 4, "new"), pending("c", 4, "c1", **older), pending("c", 4, "c2", **older)]
    present = [in_big("b", 4, "b0"), pending("b", 8, "b1", only_flavor="big")]
    plan = chosen([*work, *present], groups, capacity=(("big", "gpu", 8), ("small", "gpu", 4)), **BORROW_FIRST)
    assert (started_and_evicted(plan), waits(plan)) == (
        (["c1 opportunistic big", "new entitled small"], []),
        {"c2": "WaitingForQuota", "b1": "WaitingForQuota"},
    )


def test_workload_that_has_borrowed_leaves_its_own_room_to_the_next() -> None:
    groups = "a big:gpu 0 w1 | small:gpu 4\nb big:gpu 8"
    work = [pending("a", 4, "new1"), pending("a", 4, "new2"), pending("a", 4, "new3")]
    present = [in_big("b", 4, "b0"), pending("b", 8, "b1", only_flavor="big")]
    plan = chosen([*work, *present], groups, capacity=(("big", "gpu", 8), ("small", "gpu", 4)), **BORROW_FIRST)
    assert started_and_evicted(plan) == (["new1 opportunistic big", "new2 entitled small"], [])


BIG, SMALL = (FlavorChoice(flavor, ("gpu",), ()) for flavor in ("big", "small"))
ONE_SET = (FlavorAssignment((BIG,), ()), FlavorAssignment((SMALL,), ()))
TWO_SETS = (FlavorAssignment((BIG, BIG), ()), FlavorAssignment((BIG, SMALL), ()))


@pytest.mark.parametrize(
    ("assignments", "settings", "expected"),
    [
        pytest.param(ONE_SET, {}, True, id="one set"),
        pytest.param(TWO_SETS, {}, False, id="several sets: some of them may be entitled"),
        pytest.param(TWO_SETS[:1], {}, True, id="no choice"),
        pytest.param(TWO_SETS, BORROW_FIRST, True, id="borrows in the first"),
        pytest.param(TWO_SETS, BORROW_FIRST | RECLAIM_FIRST, False, id="unless it would rather reclaim"),
        pytest.param(TWO_SETS[:1], RECLAIM_FIRST, True, id="reclaims nothing that it is not entitled to"),
    ],
)
def test_what_borrows_in_the_first_that_fits(
    assignments: Assignments, settings: dict[str, Any], *, expected: bool
) -> None:
    assert borrows_first_fitting(assignments, replace(group("a"), **settings)) is expected
