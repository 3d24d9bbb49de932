"""What a round counts while it plans: who is planned to go, and who is taken back."""

from dataclasses import replace

from shared.quota.decide.state.cycle_cache import CycleCache
from shared.quota.decide.state.leaf_usage import LeafUsage
from shared.quota.decide.state.round_usage import RoundUsage
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.node import ClusterNode
from shared.quota.model.workload import Workload
from tests.builders import NOW, evicting, pending, running, world
from tests.trees import KEY

WORK = [running("a", 3, "x"), running("a", 2, "y"), running("b", 1, "z")]
CLOSED = running("a", 2, "cordoned").holding_on_closed_nodes({KEY: 1})


def cluster(*more: Workload) -> World:
    """Two leaves, of which one has an idle guarantee; one workload runs partly on a cordoned node."""
    found = world("root 20\n  p 12\n    a 6 b2\n    b 4 l1", [*WORK, CLOSED, *more])
    return replace(found, nodes=(ClusterNode("open", allocatable={"gpu": 20}),), largest_nodes={})


def sums(usage: RoundUsage) -> dict[str, tuple[int, int]]:
    """The charge and the use of each group, with the plan."""
    names = ("a", "b", "p", "root")
    return {each: (usage.planned.charge(each, KEY), usage.used_planned(each, KEY)) for each in names}


def evict_all(usage: RoundUsage) -> list[LeafUsage]:
    leaves = [usage.leaf(name) for name in ("a", "b")]
    for leaf in leaves:
        usage.evict(leaf, *leaf.running.order(NOW).running)
    return leaves


def test_victims_that_are_restored_together_leave_what_was_before() -> None:
    usage = RoundUsage(measure(cluster(), NOW), ())
    before = sums(usage)
    leaves = evict_all(usage)
    assert {name: use for name, (_, use) in sums(usage).items()} == {"a": 0, "b": 0, "p": 0, "root": 0}
    for leaf in leaves:
        usage.restore(leaf, *leaf.running.order(NOW).running)
    assert sums(usage) == before
    assert [leaf.running.evicted_now for leaf in leaves] == [set(), set()]


def test_victims_that_are_restored_one_by_one_leave_what_was_before() -> None:
    usage = RoundUsage(measure(cluster(), NOW), ())
    before = sums(usage)
    for leaf in evict_all(usage):
        for each in leaf.running.order(NOW).running:
            usage.restore(leaf, each)
    assert sums(usage) == before


def test_what_is_being_evicted_is_used_but_not_with_the_plan() -> None:
    usage = RoundUsage(measure(cluster(evicting(running("a", 4, "leaving"))), NOW), ("a",))
    assert (usage.used.used("a", KEY), usage.used_planned("a", KEY)) == (11, 7)


def test_order_of_recycling_is_kept_while_the_same_workloads_run() -> None:
    cache, facts = CycleCache(), cluster()
    snapshot = measure(facts, NOW)
    cache.refresh(snapshot)
    first = cache.leaves["a"].in_order()
    arrived = facts.with_changes([(None, pending("a", 1, "new"))])
    snapshot = measure(arrived, NOW, snapshot)
    cache.refresh(snapshot)
    assert cache.leaves["a"].in_order() is first
    cache.refresh(measure(arrived.with_changes([(WORK[0], None)]), NOW, snapshot))
    assert [each.workload.key for each in cache.leaves["a"].in_order().running] == ["ns/y", "ns/cordoned"]


def test_record_of_another_snapshot_does_not_say_who_runs() -> None:
    cache, snapshot = CycleCache(), measure(cluster(), NOW)
    cache.refresh(measure(cluster(running("a", 1, "more")), NOW))
    usage = RoundUsage(snapshot, (), known=cache.leaves)
    assert len(usage.leaf("a").running.order(NOW).running) == 3


def test_what_this_cycle_has_started_is_left_out_also_where_the_order_is_known() -> None:
    cache, snapshot = CycleCache(), measure(cluster(), NOW)
    cache.refresh(snapshot)
    known = cache.leaves["a"]
    leaf = LeafUsage(snapshot.leaves["a"], snapshot.numbers["a"], {WORK[0].id}, known.in_order)
    assert [each.workload.key for each in leaf.running.order(NOW).running] == ["ns/y", "ns/cordoned"]
