"""Which pending work counts in its leaf's request, and in which flavors."""

from dataclasses import replace

import pytest

from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.eligibility import FlavorSet, Options
from shared.quota.model.flavor import Flavor
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.settings import QuotaSettings, Uncovered
from shared.quota.model.workload import PodSet, Workload
from shared.resources import FlavorResource
from tests.builders import NOW, after, claimed, evicting, pending, running, world
from tests.trees import GPU, KEY, capacity_in, tree

TWO_FLAVORS = (Flavor("a100", node_labels={"gpu": "a100"}), Flavor("t4", node_labels={"gpu": "t4"}))
A100, T4 = FlavorResource("a100", "gpu"), FlavorResource("t4", "gpu")


def request_of(snapshot: Snapshot, leaf: str, key: FlavorResource = KEY) -> int:
    return snapshot.numbers[leaf][key].request


def requested(text: str, *work: Workload) -> int:
    return request_of(measure(world(text, work), NOW), "a")


def two_flavors(text: str, *work: Workload) -> tuple[int, int]:
    snapshot = measure(world(text, work, TWO_FLAVORS), NOW)
    return request_of(snapshot, "a", A100), request_of(snapshot, "a", T4)


def test_workload_that_waits_for_its_own_reasons_does_not_count() -> None:
    job = pending("a", 1, "plain")
    others = [
        pending("a", 2, "held", hold=True),
        pending("a", 4, "deactivated", deactivated=True),
        pending("a", 8, "backing-off", not_before=after(1)),
    ]
    snapshot = measure(world("root 20\n a 10", [job, *others]), NOW)
    assert request_of(snapshot, "a") == 1
    leaf = snapshot.leaves["a"]
    assert leaf.pending == (job,)
    assert {work.key for work in leaf.aside} == {work.key for work in others}
    assert leaf.next_change == after(1)


def test_workload_counts_again_when_its_back_off_ends() -> None:
    job = pending("a", 8, "backing-off", not_before=after(10), created=after(-9))
    found = world("root 20\n a 10", [job, pending("a", 1, "younger")])
    before = measure(found, after(9))
    assert request_of(before, "a") == 1
    later = measure(found, after(10), before)
    assert request_of(later, "a") == 9
    assert [work.key for work in later.leaves["a"].pending] == ["ns/backing-off", "ns/younger"]
    assert later.leaves["a"].next_change is None


def test_pending_workloads_are_ordered_by_priority_then_age_then_name() -> None:
    jobs = [
        pending("a", 1, "late", queued=after(5)),
        pending("a", 1, "urgent", queued=after(9), priority=7),
        pending("a", 1, "b-early"),
        pending("a", 1, "a-early"),
        pending("a", 1, "older", created=after(-1), queued=after(0)),
    ]
    snapshot = measure(world("root 20\n a 10", jobs), NOW)
    names = [work.key.removeprefix("ns/") for work in snapshot.leaves["a"].pending]
    assert names == ["urgent", "older", "a-early", "b-early", "late"]


def test_stopped_subtree_lists_pending_workloads_without_counting_them() -> None:
    job = pending("a", 3, "job")
    for policy, counted in (("close", 3), ("hold", 0), ("drain", 0)):
        snapshot = measure(world(f"root 20\n p {policy} 10\n  a 10", [job, running("a", 2, "old")]), NOW)
        leaf = snapshot.leaves["a"]
        assert request_of(snapshot, "a") == 2 + counted
        assert (leaf.pending, leaf.stopped_by, leaf.may_start) == ((job,), "p", counted > 0)


def test_inactive_leaf_counts_no_pending_workload_and_keeps_its_use() -> None:
    found = world("root 20\n a 10", [pending("a", 3, "job"), running("a", 2, "old")])
    why = Inactive("FlavorAbsent", "there is no flavor x")
    snapshot = measure(replace(found, inactive={"a": why}), NOW)
    assert request_of(snapshot, "a") == 2
    assert snapshot.leaves["a"].inactive == why
    assert not snapshot.leaves["a"].may_start


def test_pending_workload_counts_in_every_possible_flavor_and_a_running_one_in_its_own() -> None:
    text = "root a100:gpu 9 | t4:gpu 9\n a a100:gpu 4 | t4:gpu 4"
    assert two_flavors(text, pending("a", 3, "any")) == (3, 3)
    assert two_flavors(text, pending("a", 3, "one", only_flavor="t4")) == (0, 3)
    assert two_flavors(text, pending("a", 3, "blocked", blocked_flavors=frozenset({"t4"}))) == (3, 0)
    assert two_flavors(text, running("a", 3, "runs", flavors="t4")) == (0, 3)
    assert two_flavors(text, evicting(running("a", 3, "leaves", flavors="t4"))) == (0, 3)


def test_preemptor_counts_only_in_the_claimed_flavor() -> None:
    text = "root a100:gpu 9 | t4:gpu 9\n a a100:gpu 4 | t4:gpu 4\n b a100:gpu 4"
    preemptor = pending("a", 3, "preemptor")
    victim = evicting(running("b", 4, "victim", flavors="a100"), preemptor, flavor="a100")
    assert two_flavors(text, preemptor, pending("a", 2, "other"), victim) == (5, 2)


def test_workload_that_could_never_fit_a_flavor_does_not_count_there() -> None:
    text = "root a100:gpu 9 | t4:gpu 9\n a a100:gpu 4 | t4:gpu 4..6"
    assert two_flavors(text, pending("a", 7, "large")) == (7, 0)
    assert two_flavors(text, pending("a", 10, "huge")) == (0, 0)


def test_possible_fit_respects_the_scaled_guarantees_of_others() -> None:
    assert requested("root 20\n a 10\n b 8 l2", pending("a", 14, "fits")) == 14
    assert requested("root 20\n a 10\n b 8 l2", pending("a", 15, "large")) == 0
    short = "root 10\n a 10\n b 10 l0"
    assert requested(short, pending("a", 5, "fits")) == 5
    assert requested(short, pending("a", 6, "large")) == 0


def test_remaining_units_of_scaled_guarantees_count_as_usable() -> None:
    one_unit = "root 1\n a 1\n Z 1 l0"
    assert measure(world(one_unit, []), NOW).numbers["Z"][KEY].effective_min == 1
    assert requested(one_unit, pending("a", 1, "fits")) == 1
    assert requested(one_unit, pending("a", 2, "large")) == 0
    below = "root 3\n p 2\n  a 1\n  Z 1 l0\n q 2 l0"
    assert requested(below, pending("a", 2, "fits")) == 2
    assert requested(below, pending("a", 3, "large")) == 0


def test_possible_fit_checks_the_whole_path_and_names_the_binding_group() -> None:
    snapshot = measure(world("root 20\n p 10..12\n  a 4\n  b 4 l1\n q 5 l0", []), NOW)
    assert snapshot.largest_fit("a", KEY) == (9, "p")
    assert snapshot.largest_fit("q", KEY) == (17, "root")
    assert snapshot.largest_fit("b", KEY) == (12, "p")


def test_workload_with_one_resource_that_fits_nowhere_counts_nowhere() -> None:
    cpu = FlavorResource("default", "cpu")
    text = "root default:cpu 90 default:gpu 9\n a default:cpu 40 | a100:gpu 4"
    found = world(text, [pending("a", {"cpu": 10, "gpu": 1}, "job")])
    assert request_of(measure(found, NOW), "a", cpu) == 0


def test_requested_resource_without_quota_blocks_the_workload_or_is_ignored_as_set() -> None:
    found = tree("root 9\n a 4")
    job = pending("a", {"gpu": 1, "fpga": 1}, "job")
    denied = measure(world(found, [job]), NOW)
    assert request_of(denied, "a") == 0
    assert denied.leaves["a"].options(job) == Options(
        (FlavorSet(job.sets[0], ("gpu",), ("default",)),), uncovered=("fpga",)
    )
    ignoring = QuotaSettings(capacity=capacity_in(found), uncovered=Uncovered.IGNORE)
    ignored = measure(world(found, [job], settings=ignoring), NOW)
    assert request_of(ignored, "a") == 1
    assert ignored.leaves["a"].options(job).could_fit


def test_options_give_the_reason_of_a_refused_flavor() -> None:
    job = pending("a", 7, "job", blocked_flavors=frozenset({"t4"}))
    snapshot = measure(world("root a100:gpu 5 | t4:gpu 9\n a a100:gpu 4 | t4:gpu 4", [job], TWO_FLAVORS), NOW)
    assert snapshot.leaves["a"].options(job) == Options(
        (
            FlavorSet(
                job.sets[0],
                ("gpu",),
                (),
                {
                    "a100": "requests 7 of a100/gpu, the most it could get is 5",
                    "t4": "a label in the pods' nodeSelector conflicts with this flavor's",
                },
            ),
        )
    )


@pytest.mark.parametrize(
    ("preemptible", "limit"), [(True, "the most it could get is 5"), (False, "the min in effect is 4")]
)
def test_refused_flavor_names_the_limit_that_binds(preemptible: bool, limit: str) -> None:
    job = pending("a", 7, "job", preemptible=preemptible)
    snapshot = measure(world("root 5\n a 4", [job]), NOW)
    (options,) = snapshot.leaves["a"].options(job).sets
    assert options.refused == {"default": f"requests 7 of default/gpu, {limit}"}


def test_workload_without_a_counted_request_has_no_options() -> None:
    job = pending("a", {"gpu": 0}, "job")
    snapshot = measure(world("root 9\n a 4", [job]), NOW)
    assert snapshot.leaves["a"].options(job) == Options()
    assert snapshot.leaves["a"].options(job).could_fit


def non_preemptible(request: int, name: str, **fields: object) -> Workload:
    return pending("a", request, name, preemptible=False, **fields)


def test_non_preemptible_workloads_count_in_order_while_they_fit_effective_min() -> None:
    text = "root 100\n a 10"
    assert (
        requested(
            text, non_preemptible(4, "1"), non_preemptible(7, "2"), non_preemptible(5, "3"), non_preemptible(2, "4")
        )
        == 4 + 5
    )
    assert (
        requested(
            text,
            non_preemptible(4, "1", queued=after(9)),
            non_preemptible(7, "2"),
            non_preemptible(5, "3"),
            non_preemptible(2, "4"),
        )
        == 7 + 2
    )
    assert (
        requested(text, running("a", 6, "0", preemptible=False), non_preemptible(5, "1"), non_preemptible(4, "2"))
        == 6 + 4
    )
    assert requested(text, running("a", 6, "0"), non_preemptible(7, "1"), pending("a", 50, "2")) == 6 + 7 + 50
    assert requested("root 5\n a 10\n b 10", non_preemptible(2, "1"), non_preemptible(1, "2")) == 3


def test_non_preemptible_workload_must_fit_on_all_its_keys() -> None:
    cpu = FlavorResource("default", "cpu")
    text = "root default:cpu 90 default:gpu 9\n a default:cpu 10 default:gpu 4"
    jobs = [non_preemptible(0, name) for name in "12"]
    jobs = [
        replace(jobs[0], request={"cpu": 8, "gpu": 1}),
        replace(jobs[1], request={"cpu": 3, "gpu": 1}),
        non_preemptible(2, "3"),
    ]
    snapshot = measure(world(text, jobs), NOW)
    assert (request_of(snapshot, "a", cpu), request_of(snapshot, "a")) == (8, 3)
    flavored = "root a100:gpu 9 | t4:gpu 9\n a a100:gpu 4 | t4:gpu 2"
    assert two_flavors(flavored, non_preemptible(3, "1"), non_preemptible(2, "2"), non_preemptible(1, "3")) == (4, 2)


def test_claims_of_non_preemptible_workloads_are_subtracted_first() -> None:
    preemptor = non_preemptible(6, "preemptor", queued=after(9))
    victim = claimed(running("b", 6, "victim"), preemptor)
    snapshot = measure(
        world("root 100\n a 10\n b 10", [non_preemptible(5, "older"), preemptor, non_preemptible(4, "fits"), victim]),
        NOW,
    )
    assert request_of(snapshot, "a") == 6 + 4


@pytest.mark.parametrize(("second", "expected"), [(3, 4), (4, 0)], ids=["up to effectiveMin", "one above"])
def test_pod_sets_that_are_not_preemptible_count_together_within_effective_min(second: int, expected: int) -> None:
    sets = (PodSet("one", {GPU: 1}), PodSet("two", {GPU: second}))
    firm = pending("a", 1 + second, "w", preemptible=False, pod_sets=sets)
    assert requested("root 8\n  a 4\n  b 4", firm) == expected


def test_equal_workloads_that_are_not_preemptible_count_while_they_fit_the_min() -> None:
    three = [pending("a", 2, f"fixed-{number}", preemptible=False) for number in range(3)]
    assert requested("root 8\n  a 5", *three) == 4


@pytest.mark.parametrize("preemptible", [True, False])
def test_workload_of_which_one_pod_set_can_never_start_counts_nothing(preemptible: bool) -> None:
    sets = (PodSet("head", {"gpu": 1}, 1), PodSet("workers", {"gpu": 2, "nic": 1}, 1))
    never = pending("a", {"gpu": 3, "nic": 1}, "never", preemptible=preemptible, pod_sets=sets)
    snapshot = measure(world("root 8\n  a 4\n  b 4", [never, pending("b", 8)]), NOW)
    assert snapshot.numbers["a"][KEY].request == 0
    assert snapshot.numbers["b"][KEY].runtime == 8
