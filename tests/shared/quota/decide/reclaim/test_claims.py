"""An eviction is a claim: it lasts until its preemptor starts, over restarts, and how it ends.

See docs/specification.md §7.11.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.flavor import Flavor
from shared.quota.model.workload import Workload
from shared.quota.outlook.simulate import run as simulate
from tests.builders import NOW, after, claimed, evicting, pending, running
from tests.shared.quota.decide.plan_words import decide, evictions, given, started_and_evicted, starts, waits

TWO = "root 8\n  a 4\n  b 4"
PREEMPTOR = pending("b", 4, "preemptor")


def ended(decided: object) -> list[tuple[str, str]]:
    return [(end.victim.key, end.reason) for end in decided.claims_ended]  # type: ignore[attr-defined]


def gone(victim: Workload) -> Workload:
    """The victim once its pods have ended; the claim is still written on it."""
    return replace(victim, admission=None)


VICTIM = claimed(evicting(running("a", 4, "victim")), PREEMPTOR)
SLOW = evicting(running("a", 1, "slow"))


def test_preemptor_with_free_room_starts_before_all_other_workloads() -> None:
    first = pending("a", 4, "older", created=after(-99), priority=9)
    plan = decide(TWO, [running("a", 4, "a0"), gone(VICTIM), PREEMPTOR, first])
    assert starts(plan) == ["preemptor entitled claim"]


def test_restarted_process_reads_the_claim_from_the_victim() -> None:
    """The same world told from scratch, with nothing remembered, decides the same at each step."""
    world = given(TWO, [running("a", 4, "a0"), running("a", 4, "a1"), PREEMPTOR])
    first = plan(measure(world, NOW))
    world = simulate.carry_out(world, first)
    read_again = given(TWO, [each for workloads in world.workload_sets.values() for each in workloads.by_id.values()])
    second = plan(measure(read_again, after(1)))
    assert (evictions(first), started_and_evicted(second), waits(second)) == (
        ["a1 Reclaim for preemptor"],
        ([], []),
        {"preemptor": "WaitingForEvictions"},
    )
    third = plan(measure(simulate.end_evictions(read_again), after(2)))
    assert starts(third) == ["preemptor entitled claim"]


def test_standing_claim_prevents_further_evictions_for_its_preemptor() -> None:
    assert started_and_evicted(decide(TWO, [running("a", 4, "a0"), VICTIM, PREEMPTOR])) == ([], [])


def test_entitlement_of_a_claim_is_not_checked_again() -> None:
    """b is over what it may use by now, because c has come; the claim stands all the same."""
    work = [gone(VICTIM), PREEMPTOR, running("a", 4, "a0"), pending("c", 4, "c1", priority=9)]
    plan = decide("root 8\n  a 2\n  b 2 w0\n  c 4", work)
    assert starts(plan) == ["preemptor opportunistic claim"]


def test_oldest_claim_is_served_first() -> None:
    other = pending("b", 4, "other")
    work = [
        running("a", 4, "a0"),
        gone(claimed(evicting(running("a", 2, "v1")), PREEMPTOR, at=after(-1))),
        claimed(evicting(running("a", 4, "v2")), other, at=after(-9)),
        PREEMPTOR,
        other,
    ]
    plan = decide("root 12\n  a 4\n  b 8", work)
    assert (starts(plan), waits(plan)) == (
        ["other entitled claim"],
        {"preemptor": "WaitingForEvictions", "v1": "WaitingForQuota"},
    )


@pytest.mark.parametrize(
    ("work", "settings", "reason"),
    [
        pytest.param([VICTIM], {}, "PreemptorGone", id="the preemptor is deleted"),
        pytest.param([VICTIM, replace(PREEMPTOR, hold=True)], {}, "PreemptorGone", id="the preemptor is held"),
        pytest.param(
            [VICTIM, replace(PREEMPTOR, deactivated=True)], {}, "PreemptorGone", id="the preemptor is deactivated"
        ),
        pytest.param([VICTIM, replace(PREEMPTOR, uid="again")], {}, "PreemptorGone", id="a namesake of the preemptor"),
        pytest.param(
            [VICTIM, replace(PREEMPTOR, request={"gpu": 5})], {}, "NoLongerFits", id="the preemptor wants more"
        ),
        pytest.param(
            [VICTIM, PREEMPTOR, running("a", 4, "a0"), running("b", 4, "b0", preemptible=False)],
            {},
            "NoLongerFits",
            id="it can no longer fit after the evictions under way",
        ),
        pytest.param(
            [VICTIM, replace(PREEMPTOR, blocked_flavors=frozenset({"default"}))],
            {},
            "FlavorRefused",
            id="its flavor was refused",
        ),
        pytest.param([VICTIM, PREEMPTOR, SLOW], {"now": after(300)}, "TimedOut", id="claimTimeout is over"),
        pytest.param(
            [VICTIM, PREEMPTOR, SLOW],
            {"now": after(60), "claim_timeout": timedelta(seconds=60)},
            "TimedOut",
            id="a shorter claimTimeout is over",
        ),
    ],
)
def test_claim_ends_with_its_reason(work: list[Workload], settings: dict[str, object], reason: str) -> None:
    decided = decide("root 8\n  a 4\n  b 4..4", work, **settings)  # type: ignore[arg-type]
    assert ended(decided) == [("ns/victim", reason)]


def test_claim_ends_when_its_preemptor_accepts_another_flavor_only() -> None:
    groups = "root a100:gpu 8 | default:gpu 8\n  a default:gpu 4\n  b a100:gpu 4 | default:gpu 4"
    work = [VICTIM, SLOW, replace(PREEMPTOR, only_flavor="a100")]
    decided = decide(groups, work, (Flavor("a100"), Flavor("default")))
    assert (ended(decided), starts(decided)) == ([("ns/victim", "NoLongerFits")], ["preemptor opportunistic a100"])


def test_claim_does_not_end_when_its_preemptor_can_start() -> None:
    plan = decide(TWO, [VICTIM, PREEMPTOR], now=after(300))
    assert (started_and_evicted(plan), ended(plan)) == ((["preemptor entitled claim"], []), [])


def test_claim_ends_when_the_group_of_its_preemptor_is_stopped() -> None:
    assert ended(decide("root 8\n  a 4\n  b 4 hold", [VICTIM, PREEMPTOR])) == [("ns/victim", "GroupStopped")]


def test_standing_claim_wakes_the_cycle_at_its_timeout() -> None:
    assert decide(TWO, [VICTIM, PREEMPTOR]).wake_at == after(300)


def test_claim_counts_as_use_of_its_leaf_in_the_claimed_flavors() -> None:
    victim = claimed(evicting(running("a", 2, "victim")), PREEMPTOR)
    plan = decide(TWO, [running("a", 4, "a0"), victim, PREEMPTOR, pending("b", 2, "b2")])
    assert (started_and_evicted(plan), waits(plan)["b2"]) == (([], []), "RoomKeptForOthers")


def test_borrowing_and_returning_alternate_without_loss() -> None:
    """Koordinator's story: a borrows all of b, b comes back and gets its min, a's last work restarts when b is done."""
    world = given(TWO, [pending("a", 2, f"a{number}", created=after(number)) for number in range(4)])
    borrowed = simulate.run(world, NOW)
    asked = simulate.run(borrowed.world.with_changes([(None, PREEMPTOR)]), after(60))
    preemptor = next(each for each in asked.world.workload_sets["b"].admitted)
    done = simulate.run(asked.world.with_changes([(preemptor, None)]), after(120))
    assert [started_and_evicted(each) for outcome in (borrowed, asked, done) for each in outcome.plans] == [
        (["a0 entitled", "a1 entitled", "a2 entitled", "a3 entitled"], []),
        ([], ["a3 Reclaim for preemptor", "a2 Reclaim for preemptor"]),
        (["preemptor entitled claim"], []),
        (["a2 entitled", "a3 entitled"], []),
    ]


def test_preemptor_of_a_deleted_victim_is_served_after_a_restart() -> None:
    """Nothing carries the claim any more. Entitled, it comes before an older workload that would borrow its room."""
    older = pending("c", 4, "older", created=after(-99))
    restarted = decide("root 8\n  a 4\n  b 4\n  c 0 w0", [running("a", 4, "a0"), PREEMPTOR, older])
    assert (started_and_evicted(restarted), waits(restarted)) == (
        (["preemptor entitled"], []),
        {"older": "WaitingForQuota"},
    )


def test_room_taken_by_a_borrower_is_reclaimed_for_the_preemptor_after_a_restart() -> None:
    """Its victim was deleted while no process decided, and another workload has the room by now."""
    work = [running("a", 4, "a0", since=after(-9)), running("a", 4, "borrows", since=after(-1)), PREEMPTOR]
    restarted = decide(TWO, work)
    assert (evictions(restarted), waits(restarted)) == (
        ["borrows Reclaim for preemptor"],
        {"preemptor": "WaitingForEvictions"},
    )


def test_preemptor_of_a_swap_is_first_in_its_leaf_after_a_restart() -> None:
    high, next_in_line = pending("a", 3, "high", priority=5), pending("a", 3, "low", created=after(-99))
    restarted = decide("root 4\n  a 0\n  b 0", [high, next_in_line, pending("b", 3, "theirs", created=after(9))])
    assert starts(restarted)[:1] == ["high opportunistic"]
