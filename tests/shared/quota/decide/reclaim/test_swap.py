"""Higher priority takes the place of lower in a leaf that must not grow. docs/specification.md §7.7."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.quota.model.settings import ReclaimMode
from shared.quota.model.tree import Preemption
from shared.quota.model.workload import Workload
from tests.builders import after, claimed, evicting, pending, running
from tests.shared.quota.decide.plan_words import decide, evictions, started_and_evicted, waits
from tests.trees import tree

FULL = "root 8\n  a 0 w0\n  b 8"
"""All that a uses is borrowed; b waits for more than there is, so that nothing is left for a."""
B = [running("b", 4, "b0"), pending("b", 8, "b1")]


@pytest.mark.parametrize(
    ("present", "new", "expected"),
    [
        pytest.param(
            [running("a", 4, "low")], pending("a", 4, "new", priority=1), ["low Swap for new"], id="equal size"
        ),
        pytest.param([running("a", 4, "low")], pending("a", 2, "new", priority=1), ["low Swap for new"], id="smaller"),
        pytest.param([running("a", 3, "low")], pending("a", 4, "new", priority=1), [], id="never larger"),
        pytest.param([running("a", 4, "low")], pending("a", 4, "new"), [], id="never for equal priority"),
        pytest.param(
            [running("a", 4, "low", preemptible=False)], pending("a", 4, "new", priority=1), [], id="not preemptible"
        ),
        pytest.param(
            [
                running("a", 1, "late", since=after(-1)),
                running("a", 2, "mid", since=after(-5)),
                running("a", 1, "old", since=after(-9)),
            ],
            pending("a", 2, "new", priority=1),
            ["mid Swap for new"],
            id="then fill back",
        ),
    ],
)
def test_lower_priority_workload_of_the_leaf_is_swapped_for_higher(
    present: list[Workload], new: Workload, expected: list[str]
) -> None:
    assert evictions(decide(FULL, [*B, *present, new])) == expected


def test_the_victim_carries_the_claim_of_a_swap() -> None:
    plan = decide(FULL, [*B, running("a", 4, "low"), pending("a", 4, "new", priority=1)])
    [victim] = plan.evictions
    assert (victim.reason.value, victim.claim and victim.claim.swap) == ("Preempted", True)


def test_swap_is_disabled_where_preemption_is_never() -> None:
    found = tree(FULL)
    never = found.with_group(replace(found["a"], preemption=Preemption.NEVER))
    assert started_and_evicted(decide(never, [*B, running("a", 4, "low"), pending("a", 4, "new", priority=1)])) == (
        [],
        [],
    )


def test_no_swap_while_a_workload_of_the_leaf_has_a_claim() -> None:
    first = pending("a", 2, "first", priority=2)
    work = [*B, running("a", 2, "low"), first, claimed(evicting(running("a", 2, "gone")), first)]
    assert started_and_evicted(decide(FULL, [*work, pending("a", 2, "new", priority=1)])) == ([], [])


def test_exempt_after_start_protects_from_a_swap() -> None:
    work = [*B, running("a", 4, "low", since=after(-5)), pending("a", 4, "new", priority=1)]
    plan = decide(FULL, work, exempt_after_start=timedelta(seconds=30))
    assert (started_and_evicted(plan), plan.wake_at) == (([], []), after(25))


def swap_claimed(victim: Workload, preemptor: Workload) -> Workload:
    marked = claimed(evicting(victim), preemptor)
    assert marked.claim is not None
    return replace(marked, claim=replace(marked.claim, swap=True))


def test_claim_of_a_swap_is_withdrawn_for_an_entitled_preemptor_without_victims() -> None:
    swapper = pending("a", 4, "swapper", priority=1)
    work = [swap_claimed(running("a", 4, "low"), swapper), swapper, running("b", 4, "b0"), pending("b", 4, "b1")]
    plan = decide("root 8\n  a 0 w0\n  b 8", work)
    assert ([(end.victim.key, end.reason) for end in plan.claims_ended], waits(plan)["b1"]) == (
        [("ns/low", "Withdrawn")],
        "WaitingForEvictions",
    )


def test_claim_of_an_entitled_preemptor_is_never_withdrawn() -> None:
    preemptor = pending("a", 4, "preemptor", priority=1)
    victim = claimed(evicting(running("a", 4, "low")), preemptor)
    plan = decide("root 8\n  a 0 w0\n  b 8", [victim, preemptor, running("b", 4, "b0"), pending("b", 4, "b1")])
    assert (plan.claims_ended, waits(plan)["b1"]) == ((), "WaitingForQuota")


def test_workload_that_fits_after_pending_evictions_waits_for_them() -> None:
    groups = "root 8\n  p 0 w0\n    pp 0 w0\n      a 0 w0\n  b 8"
    leaving = evicting(running("b", 4, "leaving"))
    work = [running("b", 3, "b0"), leaving, running("a", 1, "low"), pending("a", 4, "new", priority=1)]
    assert waits(decide(groups, work)) == {"new": "WaitingForEvictions"}


def test_eviction_that_takes_longer_than_claims_wait_delays_no_swap() -> None:
    groups = "root 8\n  p 0 w0\n    pp 0 w0\n      a 0 w0\n  b 8"
    stuck = evicting(running("b", 4, "stuck"), at=after(-90))
    work = [running("b", 3, "b0"), stuck, running("a", 1, "low"), pending("a", 1, "new", priority=1)]
    assert waits(decide(groups, work, claim_timeout=timedelta(seconds=91))) == {"new": "WaitingForEvictions"}
    assert evictions(decide(groups, work, claim_timeout=timedelta(seconds=90))) == ["low Swap for new"]


def test_claim_of_a_swap_within_the_runtime_of_its_leaf_is_not_withdrawn() -> None:
    """Another claim has the room that b is entitled to; a has no more than its own."""
    swapper = pending("a", 4, "swapper", priority=1)
    work = [swap_claimed(running("a", 4, "low"), swapper), swapper]
    kept = pending("c", 4, "kept", priority=1)
    work += [claimed(evicting(running("c", 4, "gone")), kept), kept]
    plan = decide("root 8\n  a 4 w0\n  b 4\n  c 0 w0", [*work, pending("b", 4, "b1")])
    assert (plan.claims_ended, waits(plan)["b1"]) == ((), "WaitingForQuota")


def test_no_swap_without_a_victim_that_may_go_although_there_is_room() -> None:
    """In Strict mode a does not borrow above its runtime of 4, and what is `fresh` must not go yet."""
    others = [running("b", 4, "b0", preemptible=False), pending("b", 13, "b1"), running("a", 4, "old", priority=1)]
    fresh, new = running("a", 4, "fresh", since=after(-5)), pending("a", 4, "new", priority=1)
    plan = decide(
        "root 16\n  a 4 w0\n  b 4",
        [*others, fresh, new],
        mode=ReclaimMode.STRICT,
        exempt_after_start=timedelta(seconds=30),
    )
    assert (started_and_evicted(plan), waits(plan)["new"]) == (([], []), "WaitingForQuota")
