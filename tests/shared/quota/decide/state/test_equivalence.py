"""Workloads of a leaf that could take the same are judged once."""

from dataclasses import replace
from datetime import datetime

import pytest

from shared.quota.decide.state.equivalence import EquivalenceClasses
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.workload import PodSet
from shared.resources import FlavorResource
from tests.builders import NOW, after, pending, running
from tests.shared.quota.decide.plan_words import given
from tests.trees import KEY

A, B = FlavorResource("a", "gpu"), FlavorResource("b", "gpu")


@pytest.mark.parametrize(
    ("room", "place"),
    [
        pytest.param({A: 3, B: 0}, 0, id="exactly enough"),
        pytest.param({A: 1, B: 2}, 0, id="each pod set in another flavor"),
        pytest.param({A: 2, B: 0}, 1, id="too little for all pod sets of the first"),
        pytest.param({A: 1, B: -1}, 2, id="what is overdrawn in one flavor takes nothing from the other"),
        pytest.param({A: 0, B: 0}, None, id="nothing"),
    ],
)
def test_first_workload_that_could_take_something_of_a_room(room: dict[FlavorResource, int], place: int | None) -> None:
    flavors = (Flavor("a"), Flavor("b"))
    sets = (PodSet("one", {"gpu": 1}), PodSet("two", {"gpu": 2}))
    work = [
        pending("leaf", 3, "w3", created=after(-3), pod_sets=sets),
        *(pending("leaf", size, f"w{size}", created=after(-size)) for size in (2, 1)),
    ]
    world = given("leaf a:gpu 9 | b:gpu 9", work, flavors, capacity=(("a", "gpu", 9), ("b", "gpu", 9)))
    classes = EquivalenceClasses(measure(world, NOW).leaves["leaf"], world.flavors)
    assert classes.first_within(room, room.__getitem__) == place


def test_workload_that_is_not_pending_has_the_class_that_it_would_wait_in() -> None:
    waits, runs = pending("leaf", 1, "waits"), running("leaf", 1, "runs")
    world = given("root 9\n  leaf 9", [waits, runs])
    classes = EquivalenceClasses(measure(world, NOW).leaves["leaf"], world.flavors)
    assert classes.kind_of(waits) is classes.kind_of(runs)


@pytest.mark.parametrize(("held_back_from", "places"), [(after(-3), [0, 1, 2]), (after(-2), [0, 1]), (None, [0, 1, 2])])
def test_who_was_queued_at_the_moment_itself_holds_back_those_behind(
    held_back_from: datetime | None, places: list[int]
) -> None:
    work = [pending("leaf", 9, "other", only_flavor="b", created=after(-4))]
    work += [pending("leaf", size, f"w{size}", only_flavor="a", created=after(-size)) for size in (2, 1)]
    world = given(
        "leaf a:gpu 9 | b:gpu 9", work, (Flavor("a"), Flavor("b")), capacity=(("a", "gpu", 9), ("b", "gpu", 9))
    )
    classes = EquivalenceClasses(measure(world, NOW).leaves["leaf"], world.flavors)
    assert [place for place, _, _ in classes.in_turn(held_back_from)] == places


def test_later_state_of_a_leaf_takes_over_the_classes_that_are_still_valid() -> None:
    first = pending("leaf", 1, "first")
    world = given("root 9\n  leaf 9", [first])
    snapshot = measure(world, NOW)
    classes = EquivalenceClasses(snapshot.leaves["leaf"], world.flavors)
    longer = measure(world.with_changes([(None, pending("leaf", 2, "second"))]), NOW, snapshot).leaves["leaf"]
    smaller = measure(replace(world, unmanaged={KEY: 1}), NOW, snapshot).leaves["leaf"]
    too_small = measure(replace(world, unmanaged={KEY: 9}), NOW, snapshot).leaves["leaf"]
    kind = classes.kind_of(first)
    for leaf, flavors, is_kept in (
        (smaller, world.flavors, True),
        (longer, world.flavors, True),
        (too_small, world.flavors, False),
        (smaller, dict(world.flavors), False),
    ):
        later = classes.after(leaf, flavors)
        assert (later.leaf is leaf, later.kind_of(first) is kind) == (True, is_kept)
        assert [later.kind_of(each) for each in leaf.pending] == list(later.kinds)
    assert classes.leaf is snapshot.leaves["leaf"]
