"""Strict mode: borrowing ends by itself, with or without a preemptor. docs/specification.md §7.8."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import ReclaimMode
from shared.quota.model.tree import ReclaimOverrides, Tree, WhenCanBorrow
from shared.quota.model.workload import Admission, PodSet, Workload
from tests.builders import NOW, after, pending, running
from tests.shared.quota.decide.plan_words import decide, evictions, started_and_evicted, starts
from tests.trees import GPU, tree

STRICT = ReclaimMode.STRICT
TWO = "root 12\n  a 4 w0\n  b 4"
B = [running("b", 4, "b0", preemptible=False), pending("b", 9, "b1")]
"""b waits for more than there is: runtime(b) is 8, runtime(a) 4, and room is free."""


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        pytest.param(3, ["new opportunistic"], id="below its runtime; may end above"),
        pytest.param(4, [], id="at its runtime"),
    ],
)
def test_strict_mode_borrows_only_in_a_leaf_below_its_runtime(used: int, expected: list[str]) -> None:
    assert starts(decide(TWO, [*B, running("a", used, "x"), pending("a", 3, "new")], mode=STRICT)) == expected


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        pytest.param(
            [running("a", 4, "x"), running("a", 2, "y", since=after(1))], ["y Strict"], id="down to its runtime"
        ),
        pytest.param([running("a", 3, "x"), running("a", 3, "y")], [], id="not below it"),
        pytest.param(
            [running("a", 4, "x"), running("a", 1, "y"), running("a", 1, "z", priority=-1)],
            ["z Strict", "y Strict"],
            id="the least important first",
        ),
        pytest.param(
            [running("a", 4, "x"), running("a", 1, "y"), running("a", 3, "z", priority=-1)],
            ["z Strict", "y Strict"],
            id="again and again",
        ),
        pytest.param(
            [running("a", 4, "x", priority=1), running("a", 3, "big"), running("a", 1, "small", since=after(-9))],
            ["big Strict", "small Strict"],
            id="each only while it overshoots",
        ),
        pytest.param(
            [running("a", 1, "small", priority=1), running("a", 5, "big")],
            [],
            id="nobody goes in place of one who must not",
        ),
    ],
)
def test_strict_mode_evicts_from_a_leaf_over_its_runtime_without_a_preemptor(
    present: list[Workload], expected: list[str]
) -> None:
    assert evictions(decide(TWO, [*B, *present], mode=STRICT)) == expected


def test_on_demand_mode_keeps_borrowing_workloads_without_a_preemptor() -> None:
    assert started_and_evicted(decide(TWO, [*B, running("a", 4, "x"), running("a", 2, "y")])) == ([], [])


def test_exempt_after_start_of_the_least_important_stops_strict_reclaim() -> None:
    work = [*B, running("a", 4, "x", since=after(-99)), running("a", 1, "y", since=after(-99))]
    plan = decide(
        TWO, [*work, running("a", 1, "z", since=after(-5))], mode=STRICT, exempt_after_start=timedelta(seconds=30)
    )
    assert (evictions(plan), plan.wake_at) == ([], after(25))


def test_grace_period_applies_to_strict_reclaim() -> None:
    plan = decide(
        TWO, [*B, running("a", 4, "x"), running("a", 2, "y")], mode=STRICT, grace_period=timedelta(seconds=60)
    )
    assert (evictions(plan), plan.wake_at) == ([], after(60))


def test_victims_of_strict_mode_replace_those_of_a_preemptor() -> None:
    """What Strict mode takes anyway is filled back to nobody, but the preemptor's own victims are."""
    work = [running("a", 4, "x", since=after(-9)), running("a", 2, "y", since=after(-5)), running("a", 2, "z")]
    plan = decide("root 8\n  a 4 w0\n  b 4", [*work, pending("b", 4, "b1")], mode=STRICT)
    assert sorted(each.split()[0] for each in evictions(plan)) == ["y", "z"]


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        pytest.param([2, 2], [], id="over by no more than what left"),
        pytest.param([2, 2, 1], ["s2 Strict"], id="over by more"),
    ],
)
def test_strict_mode_spares_what_work_that_starts_in_another_flavor_gives_back(
    used: list[int], expected: list[str]
) -> None:
    """`new` waits in both flavors and starts in b, so that the runtime in a comes back with the next cycle."""
    work = [running("s", {"cpu": size}, f"s{place}", flavors="a") for place, size in enumerate(used)]
    plan = decide(
        "root\n  s a:cpu 0 w0\n  o b:cpu 4 | a:cpu 4",
        [*work, pending("o", {"cpu": 4}, "new")],
        [Flavor("a"), Flavor("b")],
        capacity=(("a", "cpu", sum(used)), ("b", "cpu", 4)),
        mode=STRICT,
    )
    assert started_and_evicted(plan) == (["new entitled b"], expected)


def test_strict_mode_spares_nothing_for_work_that_starts_in_the_same_flavor() -> None:
    work = [running("s", {"cpu": 2}, "s0", flavors="a"), pending("o", {"cpu": 4}, "new")]
    plan = decide("root\n  s a:cpu 0 w0\n  o a:cpu 4", work, [Flavor("a")], capacity=(("a", "cpu", 6),), mode=STRICT)
    assert started_and_evicted(plan) == (["new entitled a"], ["s0 Strict"])


def test_strict_mode_spares_a_workload_that_would_start_again_at_once() -> None:
    """Group w has nothing of a while job runs with 1 of it. While job waits, both its sets count in a, and w has 1."""
    waiting = pending("w", {"cpu": 3}, "job", pod_sets=(PodSet("one", {"cpu": 1}), PodSet("two", {"cpu": 2})))
    job = replace(waiting, admission=Admission({"one": {"cpu": "a"}, "two": {"cpu": "b"}}, NOW, ready=True))
    groups = "root a:cpu 3 | b:cpu 3\n  p a:cpu 0 | b:cpu 0\n    w a:cpu 0 | b:cpu 0\n    n a:cpu 0 b0"
    work = [running("n", {"cpu": 2}, "kept", "a", preemptible=False)]
    flavors = [Flavor("a"), Flavor("b")]
    assert started_and_evicted(decide(groups, [*work, job], flavors, mode=STRICT)) == ([], [])
    assert starts(decide(groups, [*work, waiting], flavors, mode=STRICT)) == ["job entitled a b"]


def test_strict_mode_spares_a_workload_whose_leaf_gets_the_remaining_unit_while_it_waits() -> None:
    """Four groups have 1 each, of 5. The fifth goes to a by its name, but to p while `job` waits there."""
    found = tree("root 5\n  a 0 w1\n  p/ 0 w1\n    q 0 w1\n    s 0 w1\n  c 0 w1\n  d 0 w1")
    groups = found.with_group(replace(found["s"], reclaim=ReclaimOverrides(mode=STRICT)))
    work = [running("a", 2, "a1"), running("q", 2, "q1"), pending("c", 5, "c1"), pending("d", 5, "d1")]
    assert started_and_evicted(decide(groups, [*work, running("s", 1, "job")])) == ([], [])
    assert starts(decide(groups, [*work, pending("s", 1, "job")])) == ["job entitled"]


BOTH = "root 12 | default:cpu 12\n  a 4 w0 | default:cpu 4 w0\n  b 4 | default:cpu 4"
"""b waits for more than there is of both resources: runtime(a) is 4 of each."""
B_OF_BOTH = [running("b", {GPU: 4, "cpu": 4}, "b0", preemptible=False), pending("b", {GPU: 9, "cpu": 9}, "b1")]


def test_strict_mode_asks_only_about_resources_that_are_over() -> None:
    work = [running("a", {GPU: 2, "cpu": 4}, "x", since=after(-9)), running("a", {GPU: 2, "cpu": 2}, "y")]
    assert evictions(decide(BOTH, [*B_OF_BOTH, *work], mode=STRICT)) == ["y Strict"]


def test_resource_that_victims_of_this_cycle_bring_down_counts_as_over() -> None:
    """x goes for c1, which leaves a with its runtime of GPUs: y, which is over in CPU alone then, may stay."""
    work = [
        running("a", {GPU: 2, "cpu": 4}, "z", since=after(-9)),
        running("a", {GPU: 2, "cpu": 2}, "y", since=after(-5)),
        running("a", {GPU: 2}, "x"),
        pending("c", {GPU: 2}, "c1"),
    ]
    groups = BOTH.replace("root 12", "root 10", 1) + "\n  c 2"
    assert evictions(decide(groups, [*B_OF_BOTH, *work], mode=STRICT)) == ["x Reclaim for c1"]


def test_room_that_strict_mode_frees_is_borrowed_in_the_same_cycle() -> None:
    """The preemptor alone takes what a1 frees; a's runtime is 1, so Strict mode frees 3 in its place."""
    work = [
        *(running("a", each, f"a{number}", since=after(-number)) for number, each in enumerate((1, 2, 1, 2), start=1)),
        pending("c", 6, "entitled"),
        pending("c", 4, "next"),
        pending("b", 2, "borrows"),
    ]
    plan = decide("root 11\n  a 0\n  b 1\n  c 9", work, mode=STRICT)
    assert started_and_evicted(plan) == (["borrows opportunistic"], ["a2 Strict", "a3 Strict"])


@pytest.mark.parametrize(
    ("capacity", "asks", "others", "expected"),
    [
        pytest.param(6, 4, [], (["b1 opportunistic z"], ["x Reclaim for e"]), id="with room for it"),
        pytest.param(
            8,
            5,
            [pending("b", {"cpu": 2}, "b2", only_flavor="a", priority=5)],
            (["b1 opportunistic z", "b2 opportunistic a"], ["y Strict", "x Reclaim for e"]),
            id="without: b2 has started there",
        ),
    ],
)
def test_victim_of_strict_mode_stays_if_a_later_preemptor_takes_others_of_its_leaf(
    capacity: int, asks: int, others: list[Workload], expected: tuple[list[str], list[str]]
) -> None:
    """e could borrow z, which b1 takes first: so e reclaims 2 of a from s, which leaves s within its runtime with y."""
    found = tree(
        f"root a:cpu {capacity} | z:cpu 5\n  s a:cpu 2 w0\n  c z:cpu 0 w0 | a:cpu {asks}\n  b z:cpu 0 w0 | a:cpu 0 w0"
    )
    groups = {
        **found.groups,
        "s": replace(found["s"], reclaim=ReclaimOverrides(mode=STRICT)),
        "c": replace(found["c"], when_can_borrow=WhenCanBorrow.BORROW),
    }
    work = [
        running("s", {"cpu": 1}, "k", "a", priority=2),
        running("s", {"cpu": 2}, "x", "a", priority=1),
        running("s", {"cpu": 1}, "y", "a"),
        pending("c", {"cpu": asks}, "e"),
        pending("b", {"cpu": 4}, "b1", only_flavor="z", priority=5),
        *others,
    ]
    assert started_and_evicted(decide(Tree.of(groups.values()), work, [Flavor("a"), Flavor("z")])) == expected
