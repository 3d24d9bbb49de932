"""Workloads of a leaf that could take the same are judged once."""

from dataclasses import replace
from datetime import datetime

import pytest

from shared.quota.decide.state.equivalence import EquivalenceClasses, KnownClasses
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource
from tests.builders import NOW, after, pending, running
from tests.shared.quota.decide.plan_words import given
from tests.trees import KEY

A = FlavorResource("a", "gpu")


def test_smallest_requests_have_the_least_amount_of_each_key() -> None:
    """Whatever takes one set of keys needs at least so much: cpu 4, gpu 1 and cpu 2, gpu 8 give cpu 2, gpu 1."""
    cpu = FlavorResource("a", "cpu")
    work = [pending("leaf", {"cpu": 4, "gpu": 1}, "w1"), pending("leaf", {"cpu": 2, "gpu": 8}, "w2")]
    world = given(
        "leaf a:gpu 9 | a:cpu 9", [*work, pending("leaf", 3, "w3")], (Flavor("a"),), capacity=((*A, 9), (*cpu, 9))
    )
    classes = EquivalenceClasses(measure(world, NOW).leaves["leaf"])
    assert classes.known.smallest == {(cpu, A): (2, 1), (A,): (3,)}


def test_workload_that_is_not_pending_has_the_class_that_it_would_wait_in() -> None:
    waits, runs = pending("leaf", 1, "waits"), running("leaf", 1, "runs")
    world = given("root 9\n  leaf 9", [waits, runs])
    classes = EquivalenceClasses(measure(world, NOW).leaves["leaf"])
    assert classes.class_of(waits) is classes.class_of(runs)


@pytest.mark.parametrize(("held_back_from", "places"), [(after(-3), [0, 1, 2]), (after(-2), [0, 1]), (None, [0, 1, 2])])
def test_who_was_queued_at_the_moment_itself_holds_back_those_behind(
    held_back_from: datetime | None, places: list[int]
) -> None:
    work = [pending("leaf", 9, "other", only_flavor="b", created=after(-4))]
    work += [pending("leaf", size, f"w{size}", only_flavor="a", created=after(-size)) for size in (2, 1)]
    world = given(
        "leaf a:gpu 9 | b:gpu 9", work, (Flavor("a"), Flavor("b")), capacity=(("a", "gpu", 9), ("b", "gpu", 9))
    )
    classes = EquivalenceClasses(measure(world, NOW).leaves["leaf"])
    assert [place for place, _, _ in classes.in_turn(held_back_from)] == places


def test_only_a_choice_among_several_flavors_at_once_is_not_simple() -> None:
    keys = (("a", "gpu", 9), ("b", "gpu", 9), ("c", "cpu", 9))
    both = {"gpu": 1, "cpu": 1}
    work = [pending("leaf", both, "chooses"), pending("leaf", 1, "alone")]
    world = given("leaf a:gpu 9 | b:gpu 9 | c:cpu 9", work, tuple(map(Flavor, "abc")), capacity=keys)
    classes = EquivalenceClasses(measure(world, NOW).leaves["leaf"])
    assert [classes.class_of(each).is_simple for each in work] == [False, True]
    assert (len(classes.known.startable), classes.known.non_simple) == (2, 2)


def test_what_requests_nothing_is_blocked_by_no_flavor() -> None:
    keys = (("a", "gpu", 9), ("b", "gpu", 9))
    work = [pending("leaf", 1, "takes"), pending("leaf", {}, "takes-nothing")]
    flavors = (Flavor("a"), Flavor("b"))

    def known(workloads: list[Workload]) -> KnownClasses:
        world = given("leaf a:gpu 9 | b:gpu 9", workloads, flavors, capacity=keys)
        return EquivalenceClasses(measure(world, NOW).leaves["leaf"]).known

    assert [known(work[:1]).all_blocked(blocked) for blocked in ({"a"}, {"a", "b"})] == [False, True]
    assert not known(work).all_blocked({"a", "b"})


def test_class_that_comes_later_can_be_what_is_not_blocked() -> None:
    keys, flavors = (("a", "gpu", 9), ("b", "gpu", 9)), (Flavor("a"), Flavor("b"))
    first = pending("leaf", 1, "first", only_flavor="a")
    world = given("leaf a:gpu 9 | b:gpu 9", [first], flavors, capacity=keys)
    snapshot = measure(world, NOW)
    known = EquivalenceClasses(snapshot.leaves["leaf"]).known
    assert known.all_blocked({"a"})
    other = world.with_changes([(None, pending("leaf", 1, "other", only_flavor="b"))])
    known.add_pending(measure(other, NOW, snapshot).leaves["leaf"])
    assert [known.all_blocked(blocked) for blocked in ({"a"}, {"a", "b"})] == [False, True]


def test_later_state_of_a_leaf_takes_over_the_classes_that_are_still_valid() -> None:
    first = pending("leaf", 1, "first")
    world = given("root 9\n  leaf 9", [first])
    snapshot = measure(world, NOW)
    classes = EquivalenceClasses(snapshot.leaves["leaf"])
    longer = measure(world.with_changes([(None, pending("leaf", 2, "second"))]), NOW, snapshot).leaves["leaf"]
    smaller = measure(replace(world, unmanaged={KEY: 1}), NOW, snapshot).leaves["leaf"]
    too_small = measure(replace(world, unmanaged={KEY: 9}), NOW, snapshot).leaves["leaf"]
    own_class = classes.class_of(first)
    for leaf, is_kept in (
        (smaller, True),
        (longer, True),
        (too_small, False),
    ):
        later = EquivalenceClasses(leaf, classes)
        assert (later.leaf is leaf, later.class_of(first) is own_class) == (True, is_kept)
        assert [later.class_of(each) for each in leaf.pending] == list(later.in_order)
    assert classes.leaf is snapshot.leaves["leaf"]


@pytest.mark.parametrize(("number", "smallest"), [(7, 2), (8, 1)])
def test_who_is_gone_is_in_the_bound_only_where_many_wait(number: int, smallest: int) -> None:
    small, *others = [pending("leaf", 1, "small"), *(pending("leaf", 2, f"w{each}") for each in range(number))]
    world = given("root 9\n  leaf 9", [small, *others])
    snapshot = measure(world, NOW)
    classes = EquivalenceClasses(snapshot.leaves["leaf"])
    after_it = measure(world.with_changes([(small, None)]), NOW, snapshot).leaves["leaf"]
    later = EquivalenceClasses(after_it, classes)
    assert (classes.known.smallest, later.known.smallest) == ({(KEY,): (1,)}, {(KEY,): (smallest,)})
    assert [later.class_of(each) for each in others] == [classes.class_of(each) for each in others]
    emptied = EquivalenceClasses(measure(given("root 9\n  leaf 9", others), NOW).leaves["leaf"], later)
    assert emptied.known.smallest == {(KEY,): (2,)}
