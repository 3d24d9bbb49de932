"""The order within a leaf by namespace or user. docs/specification.md §6.7."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from shared.quota.measure.inputs.past_use import UseHistory
from shared.quota.measure.inputs.requester_use import MAX_REQUESTERS, OTHERS, keep_largest
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import ClusterNode
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import NAMESPACE_ACCOUNTS, Tree
from shared.quota.model.workload import Workload
from tests.builders import NOW, after, pending, running, world
from tests.trees import GPU, tree

HOUR = timedelta(hours=1)
CPUS_ELSEWHERE = ClusterNode("elsewhere", {"z": "1"}, {"cpu": 6})
BY_NAMESPACE = "root 10\n  a ..10 by-namespace"


def job(namespace: str, name: str, age: float = 0, size: int = 1, **fields: object) -> Workload:
    return pending("a", size, name, namespace=namespace, created=after(-age), **fields)


def order_in(found: World) -> list[str]:
    return [each.key for each in measure(found, NOW).leaves["a"].pending]


def with_past(found: World, **hours: float) -> World:
    past = {name: {GPU: int(each * HOUR.total_seconds() * 1000)} for name, each in hours.items()}
    return replace(found, requester_use={"a": past})


def weighted(text: str, **weights: int) -> Tree:
    found = tree(text)
    return found.with_group(replace(found["a"], order_weights=weights))


def test_namespaces_alternate_also_if_one_queued_first() -> None:
    first = [job("x", f"x{n}", 100 - n) for n in range(4)]
    later = [job(each, f"{each}{n}", 10 - n) for each in "yz" for n in range(2)]
    assert order_in(world(BY_NAMESPACE, first + later)) == [
        "x/x0",
        "y/y0",
        "z/z0",
        "x/x1",
        "y/y1",
        "z/z1",
        "x/x2",
        "x/x3",
    ]


def test_less_capacity_of_a_resource_makes_more_of_what_was_used_of_it() -> None:
    large, small = ((ClusterNode("node", {}, {GPU: 10, "cpu": cpus}),) for cpus in (10, 4))
    found = world("a ..10 by-namespace", [job("x", "x0", 2), job("y", "y0", 1)], settings=QuotaSettings())
    found = replace(found, requester_use={"a": {"x": {GPU: 3_000_000_000}, "y": {"cpu": 2_000_000_000}}})
    before = measure(replace(found, nodes=large), NOW)
    less = measure(replace(found, nodes=small), NOW, before)
    orders = ([each.key for each in snapshot.leaves["a"].pending] for snapshot in (before, less))
    assert list(orders) == [["y/y0", "x/x0"], ["x/x0", "y/y0"]]


def test_order_follows_capacity_also_of_a_flavor_that_the_leaf_does_not_have() -> None:
    """Nothing else of the leaf depends on the other flavor's node."""
    small, large = ((ClusterNode("own", {}, {GPU: 10, "cpu": 4}), *others) for others in ((), (CPUS_ELSEWHERE,)))
    flavors = [Flavor("default"), Flavor("z", {"z": "1"})]
    found = world("a ..10 by-namespace", [job("x", "x0", 2), job("y", "y0", 1)], flavors, QuotaSettings())
    found = replace(found, requester_use={"a": {"x": {GPU: 3_000_000_000}, "y": {"cpu": 2_000_000_000}}})
    before = measure(replace(found, nodes=small), NOW)
    later = measure(replace(found, nodes=large), NOW, before)
    assert [[each.key for each in snapshot.leaves["a"].pending] for snapshot in (before, later)] == [
        ["x/x0", "y/y0"],
        ["y/y0", "x/x0"],
    ]


def test_by_age_past_use_changes_nothing() -> None:
    jobs = [job("x", "x0", 2), job("x", "x1", 1), job("y", "y0", 0)]
    assert order_in(with_past(world("root 10\n  a ..10", jobs), x=100)) == ["x/x0", "x/x1", "y/y0"]


def test_priority_comes_before_the_order_by_namespace() -> None:
    jobs = [job("x", "x0", 9, priority=5), job("x", "x1", 8, priority=5), job("y", "y0")]
    assert order_in(with_past(world(BY_NAMESPACE, jobs), x=100)) == ["x/x0", "x/x1", "y/y0"]


def test_who_has_used_less_comes_first_until_the_places_make_up_for_it() -> None:
    jobs = [job(each, f"{each}{n}", 100 - n) for each in "xy" for n in range(4)]
    assert order_in(with_past(world(BY_NAMESPACE, jobs), x=0.2)) == [
        "y/y0",
        "y/y1",
        "x/x0",
        "y/y2",
        "x/x1",
        "y/y3",
        "x/x2",
        "x/x3",
    ]


def test_running_workloads_count_as_six_minutes_of_use() -> None:
    jobs = [running("a", 2, "busy", namespace="x"), job("x", "x0", 9), job("y", "y0"), job("y", "y1"), job("y", "y2")]
    assert order_in(world(BY_NAMESPACE, jobs)) == ["y/y0", "y/y1", "x/x0", "y/y2"]


def test_weights_divide_use_and_zero_is_last() -> None:
    jobs = [job(each, f"{each}{n}", 10 - n) for each in "xyz" for n in range(2)]
    found = world(weighted(BY_NAMESPACE, x=2000, z=0), jobs)
    assert order_in(found) == ["x/x0", "y/y0", "x/x1", "y/y1", "z/z0", "z/z1"]
    assert order_in(with_past(found, x=2, y=1.5)) == ["x/x0", "x/x1", "y/y0", "y/y1", "z/z0", "z/z1"]


def test_users_of_one_namespace_alternate_and_controllers_count_for_their_namespace() -> None:
    jobs = [job("ns", f"ann{n}", 50 - n, user="ann") for n in range(3)]
    jobs += [job("ns", "bob0", 5, user="bob"), job("ns", "cron0", 4), job("other", "cron1", 3)]
    text = "root 10\n  a ..10 by-user"
    assert order_in(world(text, jobs)) == ["ns/ann0", "ns/bob0", "ns/cron0", "other/cron1", "ns/ann1", "ns/ann2"]
    assert order_in(with_past(world(text, jobs), ann=1, **{NAMESPACE_ACCOUNTS + "ns": 2}))[:2] == [
        "ns/bob0",
        "other/cron1",
    ]


def test_the_resource_of_which_most_is_used_counts() -> None:
    found = world(
        tree(
            "root cpu 1000\n  a ..10 cpu ..1000 by-namespace".replace("root cpu 1000", "root 10 :cpu 1000").replace(
                "..10 cpu ..1000", "..10 :cpu ..1000"
            )
        ),
        [job("x", "x0", 9), job("y", "y0")],
    )
    few_gpus, many_cpus = {GPU: 1_000_000}, {"cpu": 90_000_000}
    assert order_in(replace(found, requester_use={"a": {"x": few_gpus, "y": many_cpus}})) == ["y/y0", "x/x0"]
    assert order_in(replace(found, requester_use={"a": {"x": few_gpus, "y": {"cpu": 110_000_000}}})) == ["x/x0", "y/y0"]


def test_work_that_is_not_preemptible_counts_in_the_order_of_the_leaf() -> None:
    jobs = [job("x", f"x{n}", 10 - n, size=2, preemptible=False) for n in range(2)] + [
        job("y", "y0", size=1, preemptible=False)
    ]
    by_age = measure(world("root 10\n  a 3..10", jobs), NOW).numbers["a"]
    by_namespace = measure(world("root 10\n  a 3..10 by-namespace", jobs), NOW).numbers["a"]
    assert [next(iter(each.values())).request for each in (by_age, by_namespace)] == [3, 3]
    left_out = [
        job("x", "x0", 9, size=2, preemptible=False),
        job("x", "x1", 8, preemptible=False),
        job("y", "y0", size=1, preemptible=False),
    ]
    assert [each.key for each in measure(world(BY_NAMESPACE, left_out), NOW).leaves["a"].pending] == [
        "x/x0",
        "y/y0",
        "x/x1",
    ]


def test_a_leaf_measured_again_has_the_same_order() -> None:
    dice, text = Random(5), "root 20\n  a ..20 by-namespace\n  b ..20"
    current, snapshot, history = world(text), None, UseHistory(HOUR)
    for step in range(300):
        namespace = dice.choice("wxyz")
        current = current.with_changes([(None, job(namespace, f"{step}", age=-step, size=dice.randint(1, 3)))])
        leaf = current.workloads_of("a")
        if dice.random() < 0.5 and leaf.queue:
            start = dice.choice(leaf.queue)
            begun = running(
                "a", start.request, start.key.split("/")[1], namespace=start.key.split("/")[0], created=start.created
            )
            current = current.with_changes([(start, begun)])
        if dice.random() < 0.4 and leaf.admitted:
            current = current.with_changes([(dice.choice(leaf.admitted), None)])
        now = after(step * 7)
        history = history.after(current, now)
        current = history.put_into(current)
        snapshot = measure(current, now, snapshot)
        assert snapshot.leaves["a"].pending == measure(current, now).leaves["a"].pending
    assert set(current.requester_use["a"]) == set("wxyz")


def test_past_use_of_requesters_together_is_that_of_their_leaf() -> None:
    dice, current, history = Random(6), world(BY_NAMESPACE), UseHistory(HOUR)
    for step in range(400):
        leaf, name = current.workloads_of("a"), f"r{step}"
        if dice.random() < 0.6 or not leaf.admitted:
            current = current.with_changes(
                [(None, running("a", dice.randint(1, 3), name, namespace=dice.choice("xyz")))]
            )
        else:
            current = current.with_changes([(dice.choice(leaf.admitted), None)])
        history = history.after(current, after(step * 11))
    whole = next(iter(history.amounts["a"].values()))
    parts = sum(own[GPU] for own in history.requesters["a"].values())
    assert whole == pytest.approx(parts, rel=1e-5)


def test_the_largest_requesters_are_kept_and_the_rest_as_one() -> None:
    use = {f"n{n:03}": {GPU: n} for n in range(MAX_REQUESTERS + 50)}
    kept = keep_largest(use, MAX_REQUESTERS)
    assert (len(kept), kept[OTHERS][GPU], "n249" in kept, "n049" in kept) == (
        MAX_REQUESTERS + 1,
        sum(range(50)),
        True,
        False,
    )
    assert keep_largest(kept, MAX_REQUESTERS) == kept


def test_who_comes_after_the_largest_requesters_is_remembered_one_by_one() -> None:
    many = [running("a", 2, f"n{n}", namespace=f"n{n:03}") for n in range(MAX_REQUESTERS)]
    found = world("root 999\n  a ..999 by-namespace", many)
    history = UseHistory(HOUR).after(found, NOW).after(found, after(3600))
    late = running("a", 1, "late", namespace="late")
    more = found.with_changes([(None, late)])
    for minute in range(61, 70):
        history = history.after(more, after(60 * minute))
    assert history.requesters["a"]["late"][GPU] > 0
    assert OTHERS not in history.requesters["a"]


def test_a_leaf_that_returns_to_age_forgets_its_requesters() -> None:
    found = world(BY_NAMESPACE, [running("a", 2, "x", namespace="x")])
    history = UseHistory(HOUR).after(found, NOW).after(found, after(600))
    assert history.requesters["a"]["x"][GPU] > 0
    by_age = replace(found, tree=tree("root 10\n  a ..10"))
    assert history.after(by_age, after(700)).requesters == {}
