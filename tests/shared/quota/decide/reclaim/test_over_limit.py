"""Over a ceiling, or over what the cluster has left: always recycled. docs/specification.md §7.9 and §7.10."""

from datetime import timedelta

import pytest

from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Entry, Group, Tree
from shared.quota.model.workload import Workload
from tests.builders import NOW, after, pending, running
from tests.shared.quota.decide.plan_words import decide, evictions, told
from tests.trees import KEY


@pytest.mark.parametrize(
    ("groups", "present", "expected"),
    [
        pytest.param("root 8\n  a 2..4", [running("a", 4, "x")], [], id="at the ceiling"),
        pytest.param(
            "root 8\n  a 2..4",
            [running("a", 3, "x"), running("a", 2, "y", since=after(1))],
            ["y Ceiling"],
            id="a leaf over its max",
        ),
        pytest.param(
            "root 8\n  a 2 b1",
            [running("a", 3, "x"), running("a", 2, "y", since=after(1))],
            ["y Ceiling"],
            id="a leaf over min and borrowingLimit",
        ),
        pytest.param(
            "root 9\n  p/ 4..4\n    a 1\n    b 3",
            [running("a", 3, "x"), running("b", 3, "y", since=after(1))],
            ["x Ceiling"],
            id="a parent over its max: the leaf furthest over its runtime",
        ),
        pytest.param(
            "root 4\n  a 2\n  b 2",
            [running("a", 3, "x"), running("b", 2, "y")],
            ["x Capacity"],
            id="nodes lost: the leaf furthest over its runtime",
        ),
        pytest.param(
            "root 4\n  a 4 l0\n  b 0",
            [running("b", 4, "x")],
            [],
            id="judged by used, not by what is kept for the idle",
        ),
        pytest.param(
            "root 4\n  a 4",
            [running("a", 3, "firm", preemptible=False), running("a", 3, "y")],
            ["y Capacity"],
            id="never what is not preemptible",
        ),
        pytest.param(
            "root 4\n  a 4",
            [
                running("a", 1, "small", since=after(1)),
                running("a", 4, "large"),
                running("a", 3, "old", since=after(-9)),
            ],
            ["large Capacity"],
            id="never one more than needed",
        ),
    ],
)
def test_excess_is_recycled(groups: str, present: list[Workload], expected: list[str]) -> None:
    assert evictions(decide(groups, present)) == expected


def test_what_system_uses_is_no_excess_of_the_groups_but_takes_off_their_capacity() -> None:
    work = [running("system", 2, "daemon"), running("a", 3, "x"), running("a", 2, "y", since=after(1))]
    groups = "root 8\n  a 4\n  system"
    assert (
        evictions(decide(groups, work)),
        evictions(decide(groups, [*work, running("a", 2, "z", since=after(2))])),
    ) == (
        [],
        ["z Capacity"],
    )


def test_excess_has_its_grace_period_too() -> None:
    work = [running("a", 3, "x"), running("a", 2, "y", since=after(1))]
    grace = timedelta(seconds=60)
    first = decide("root 8\n  a 2..4", work, grace_period=grace)
    later = decide("root 8\n  a 2..4", work, now=after(60), grace_period=grace, over_since=first.over_since)
    assert (told(first), first.over_since, first.wake_at, evictions(later)) == (
        ([], []),
        {("a", KEY): after(0)},
        after(60),
        ["y Ceiling"],
    )


def test_the_evicted_waits_for_room_below_the_ceiling() -> None:
    plan = decide(
        "root 8\n  a 2..4", [running("a", 3, "x"), running("a", 2, "y", since=after(1)), pending("a", 1, "z")]
    )
    assert told(plan) == ([], ["y Ceiling"])


def test_over_two_ceilings_the_least_important_goes_whatever_the_order_of_the_keys() -> None:
    """For cpu alone `high` would go, then `big`; as `high` cures gpu too, `low` would be spared."""
    leaf = Group("a", quotas=(Entry("default", max={"cpu": 2, "gpu": 4}),))
    world = World.of(
        Tree.of([leaf]),
        [Flavor("default")],
        [
            running("a", {"cpu": 1, "gpu": 4}, "high", priority=100),
            running("a", {"cpu": 4}, "big", priority=200),
            running("a", {"gpu": 4}, "low", priority=1),
        ],
        settings=QuotaSettings(capacity=(("default", "cpu", 20), ("default", "gpu", 20))),
    )
    assert evictions(plan(measure(world, NOW))) == ["low Ceiling", "big Ceiling"]
