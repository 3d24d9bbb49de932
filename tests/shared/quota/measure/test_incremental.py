"""Measuring again costs what changed, and gives what measuring from nothing gives."""

from dataclasses import fields, replace
from random import Random
from typing import Any

import pytest

from shared.quota.measure.inputs.workload_set import WorkloadSet
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.devices.resources import DeviceResources
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Workload
from tests.builders import NOW, after, pending, running, world
from tests.shared.quota.measure.random_worlds import changed_world, random_job, random_world
from tests.trees import KEY

TREE = """
    root 100
      p 40
        a 20..30
        b 20..30
      q 40
        c 20..30
        d 20..30
"""


def facts(snapshot: Snapshot) -> dict[str, Any]:
    """Everything a decision may look at, as values."""
    return {
        "numbers": snapshot.numbers,
        "leaves": {
            name: {field.name: getattr(leaf, field.name) for field in fields(leaf) if field.name != "eligibility"}
            for name, leaf in snapshot.leaves.items()
        },
        "options": {
            (name, work.key): leaf.options(work) for name, leaf in snapshot.leaves.items() for work in leaf.pending
        },
        "most": {(name, key): snapshot.largest_fit(name, key) for name in snapshot.leaves for key in snapshot.capacity},
        "capacity": snapshot.capacity,
        "claims": snapshot.claims,
        "inactive": snapshot.inactive,
        "orphaned": sorted(work.key for work in snapshot.orphaned),
    }


@pytest.mark.parametrize("seed", range(40))
def test_incremental_measurement_equals_a_new_one_after_any_changes(seed: int) -> None:
    dice = Random(seed)
    found, now, snapshot = random_world(dice), NOW, None
    for _ in range(10):
        snapshot = measure(found, now, snapshot)
        assert facts(snapshot) == facts(measure(found, now))
        found = changed_world(dice, found)
        if dice.random() < 0.3:
            now = after(dice.randint(-60, 60))


def test_more_capacity_is_more_room_below_who_keeps_some_for_itself() -> None:
    capacity = QuotaSettings(capacity=(("default", "gpu", 8),))
    more = world("p/ 2\n  keeps 2 l0\n  b 0", [pending("b", 3, "large")], settings=capacity)
    before = measure(replace(more, unmanaged={KEY: 4}), NOW)
    assert facts(measure(more, NOW, before)) == facts(measure(more, NOW))
    assert (before.largest_fit("b", KEY), measure(more, NOW, before).largest_fit("b", KEY)) == (
        (2, "root"),
        (6, "root"),
    )


def test_resources_that_become_devices_are_not_compared_with_nodes_any_more() -> None:
    device = "example.com/gpu"
    settings = QuotaSettings(capacity=(("default", device, 8),))
    work = [pending("a", {device: 2}, "new")]
    found = replace(world(f"a default:{device} 8", work, settings=settings), largest_nodes={"default": ({"cpu": 9},)})
    before = measure(found, NOW)
    changed = replace(found, settings=replace(settings, devices=DeviceResources({"gpu": device})))
    assert facts(measure(changed, NOW, before)) == facts(measure(changed, NOW)) != facts(before)


CONTENDED = """
    root 11
      p ..20
        p0 ..9
        p1 ..9
        p2 ..9
        p3 ..9 w5
      q ..20
        q0 ..9
        q1 ..9
        q2 2..9
      r ..30
        r0 ..9
        r1 ..9
        r2 ..9
        r3 ..9
"""


@pytest.mark.parametrize("seed", range(30))
def test_order_of_remaining_units_follows_use_past_use_and_waiting_time(seed: int) -> None:
    dice = Random(seed)
    found, snapshot = world(CONTENDED), None
    leaves = [name for name, group in found.tree.groups.items() if not group.is_parent]
    jobs: dict[str, Workload] = {}
    for _ in range(40):
        name = f"job-{dice.randint(0, 40)}"
        before, leaf = jobs.get(name), dice.choice(leaves)
        made = (
            running(leaf, 1, name) if dice.random() < 0.3 else pending(leaf, 1, name, queued=after(dice.randint(0, 9)))
        )
        jobs[name] = made
        found = found.with_changes([(before, made)])
        if dice.random() < 0.4:
            group = dice.choice([*leaves, "p", "q", "r"])
            found = replace(found, past_use={**found.past_use, group: {KEY: dice.randint(0, 3)}})
        snapshot = measure(found, NOW, snapshot)
        assert snapshot.numbers == measure(found, NOW).numbers


@pytest.mark.parametrize("seed", range(20))
def test_order_of_the_input_does_not_change_the_measurement(seed: int) -> None:
    dice = Random(seed)
    found = random_world(dice)
    jobs = [job for workload_set in found.workload_sets.values() for job in workload_set.by_id.values()]
    groups = list(found.tree.groups.values())
    dice.shuffle(jobs)
    dice.shuffle(groups)
    shuffled = World.of(type(found.tree).of(groups), found.flavors.values(), jobs, settings=found.settings)
    shuffled = replace(shuffled, unmanaged=found.unmanaged)
    assert facts(measure(shuffled, NOW)) == facts(measure(found, NOW))


def changed_groups(before: Snapshot, now: Snapshot) -> set[str]:
    return {name for name in now.numbers if now.numbers[name] is not before.numbers.get(name)} - {"system"}


def test_change_of_one_leaf_touches_only_its_path() -> None:
    start = world(TREE, [running("a", 5, "one"), running("c", 5, "two")])
    before = measure(start, NOW)
    now = measure(start.with_changes([(None, running("a", 3, "three"))]), NOW, before)
    assert changed_groups(before, now) == {"a", "p", "root"}
    assert {name for name in now.leaves if now.leaves[name] is not before.leaves[name]} == {"a"}
    assert now.capacity is before.capacity


def test_more_pending_work_of_a_leaf_with_unmet_demand_changes_only_its_requests() -> None:
    jobs = [pending(leaf, 30, leaf) for leaf in "abcd"]
    start = world(TREE.replace("root 100", "root 90"), jobs)
    before = measure(start, NOW)
    now = measure(start.with_changes([(None, pending("a", 9, "more"))]), NOW, before)
    assert changed_groups(before, now) == {"a"}
    assert now.numbers["a"][KEY].request == 39


def test_change_of_demand_under_contention_reaches_the_affected_siblings() -> None:
    start = world(TREE.replace("root 100", "root 60"), [pending(leaf, 20, leaf) for leaf in "abcd"])
    before = measure(start, NOW)
    now = measure(start.with_changes([(pending("a", 20, "a"), None)]), NOW, before)
    assert changed_groups(before, now) == {"a", "b", "p", "q", "c", "d", "root"}


def test_unchanged_world_touches_nothing() -> None:
    start = world(TREE, [running("a", 5, "one")])
    before = measure(start, NOW)
    assert changed_groups(before, measure(start, after(5), before)) == set()
    assert (
        changed_groups(before, measure(replace(start, tree=start.tree.with_group(start.tree["a"])), NOW, before))
        == set()
    )


def test_edited_group_touches_only_dependent_groups() -> None:
    start = world(TREE, [running("a", 5, "one"), pending("c", 5, "two")])
    before = measure(start, NOW)
    edited = replace(start.tree["b"], allow_lending=False)
    now = measure(replace(start, tree=start.tree.with_group(edited)), NOW, before)
    assert changed_groups(before, now) == {"b", "p", "root"}
    assert {name for name in now.leaves if now.leaves[name] is not before.leaves[name]} == {"b"}


@pytest.mark.parametrize("seed", range(20))
def test_workload_set_changed_step_by_step_equals_a_new_one(seed: int) -> None:
    dice = Random(seed)
    workload_set = WorkloadSet()
    jobs: dict[str, Workload] = {}
    for _ in range(60):
        name = f"job-{dice.randint(0, 50)}"
        before = jobs.pop(f"ns/{name}", None)
        job = random_job(dice, name, ["a"]) if dice.random() < 0.7 else None
        if job is not None:
            jobs[job.key] = job
        workload_set = workload_set.with_changes([(before, job)])
    whole = WorkloadSet.of(jobs.values())
    for field in fields(WorkloadSet):
        if field.name not in ("shapes", "non_preemptible_shapes"):
            assert getattr(workload_set, field.name) == getattr(whole, field.name)
    for name in ("shapes", "non_preemptible_shapes"):
        queued = {shape: alike.queued for shape, alike in getattr(workload_set, name).items()}
        assert queued == {shape: alike.queued for shape, alike in getattr(whole, name).items()}


def test_last_of_two_workloads_with_one_id_stays() -> None:
    old, new = pending("a", 1, "job"), pending("a", 2, "job")
    assert WorkloadSet.of([old, new]).queue == (new,)
    assert WorkloadSet.of([old]).with_changes([(None, new)]).queue == (new,)


def test_workload_that_changes_its_group_leaves_the_old_one() -> None:
    job = pending("a", 3, "job")
    start = world(TREE, [job])
    moved = start.with_changes([(job, replace(job, group="c"))])
    numbers = measure(moved, NOW, measure(start, NOW)).numbers
    assert (numbers["a"][KEY].request, numbers["c"][KEY].request) == (0, 3)


def test_group_that_becomes_inactive_in_an_unchanged_tree_is_inactive() -> None:
    given = world("root 4\n  a 4", [pending("a", 1)])
    before = measure(given, NOW)
    reason = Inactive("FlavorAbsent", "flavor t4 does not exist")

    assert measure(replace(given, inactive={"a": reason}), NOW, before).inactive == {"a": reason}


def test_edited_min_divides_again_where_it_changes_no_demand() -> None:
    before = world("root 10\n  a 2\n  b 2", [pending("a", 10, "x"), pending("b", 10, "y")])
    after_edit = replace(before, tree=world("root 10\n  a 8\n  b 2").tree)
    found = measure(after_edit, NOW, measure(before, NOW))
    assert [found.numbers[name][KEY].runtime for name in ("a", "b")] == [8, 2]


def test_leaf_of_an_edited_tree_has_the_settings_of_its_group_now() -> None:
    before = world("root 10\n  a 2", [pending("a", 1)])
    held = replace(before, tree=world("root 10\n  a 2 hold").tree)
    assert facts(measure(held, NOW, measure(before, NOW))) == facts(measure(held, NOW))


def test_measuring_after_any_change_of_capacity_equals_a_new_measurement() -> None:
    drawn = world("root\n  p 4\n    a 2\n    b 2\n  c 1", [pending("a", 1)])
    capacities = [replace(drawn, settings=QuotaSettings(capacity=((*KEY, amount),))) for amount in range(14)]
    fresh = [measure(each, NOW) for each in capacities]
    for now, expected in zip(capacities, map(facts, fresh), strict=True):
        assert all(facts(measure(now, NOW, before)) == expected for before in fresh)
