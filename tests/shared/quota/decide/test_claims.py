"""An eviction is a claim: it lasts until its asker starts, over restarts, and ends as section 7 says."""

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.quota.decide import simulate
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.workload import Workload
from tests.builders import NOW, after, claimed, evicting, pending, running
from tests.shared.quota.decide.telling import decide, evictions, given, starts, told, waits

TWO = "root 8\n  a 4\n  b 4"
ASKER = pending("b", 4, "asker")


def ended(decided: object) -> list[tuple[str, str]]:
    return [(end.victim.key, end.reason) for end in decided.claims_ended]  # type: ignore[attr-defined]


def gone(victim: Workload) -> Workload:
    """The victim once its pods have ended; the claim is still written on it."""
    return replace(victim, admission=None)


VICTIM = claimed(evicting(running("a", 4, "victim")), ASKER)
SLOW = evicting(running("a", 1, "slow"))


def test_the_asker_starts_when_its_room_is_there_before_all_other_work() -> None:
    first = pending("a", 4, "older", created=after(-99), priority=9)
    plan = decide(TWO, [running("a", 4, "a0"), gone(VICTIM), ASKER, first])
    assert starts(plan) == ["asker entitled claim"]


def test_the_claim_is_read_from_the_victim_by_a_restarted_process() -> None:
    """The same world told from scratch, with nothing remembered, decides the same at each step."""
    world = given(TWO, [running("a", 4, "a0"), running("a", 4, "a1"), ASKER])
    first = plan(measure(world, NOW))
    world = simulate.carry_out(world, first)
    told_anew = given(TWO, [each for bucket in world.buckets.values() for each in bucket.by_id.values()])
    second = plan(measure(told_anew, after(1)))
    assert (evictions(first), told(second), waits(second)) == (
        ["a1 Reclaim for asker"],
        ([], []),
        {"asker": "WaitingForEvictions"},
    )
    third = plan(measure(simulate.end_evictions(told_anew), after(2)))
    assert starts(third) == ["asker entitled claim"]


def test_while_it_stands_nobody_else_is_evicted_for_its_asker() -> None:
    assert told(decide(TWO, [running("a", 4, "a0"), VICTIM, ASKER])) == ([], [])


def test_its_entitlement_is_not_judged_again() -> None:
    """b is over what it may use by now, because c has come; the claim stands all the same."""
    work = [gone(VICTIM), ASKER, running("a", 4, "a0"), pending("c", 4, "c1", priority=9)]
    plan = decide("root 8\n  a 2\n  b 2 w0\n  c 4", work)
    assert starts(plan) == ["asker opportunistic claim"]


def test_the_oldest_claim_is_served_first() -> None:
    other = pending("b", 4, "other")
    work = [
        running("a", 4, "a0"),
        gone(claimed(evicting(running("a", 2, "v1")), ASKER, at=after(-1))),
        claimed(evicting(running("a", 4, "v2")), other, at=after(-9)),
        ASKER,
        other,
    ]
    plan = decide("root 12\n  a 4\n  b 8", work)
    assert (starts(plan), waits(plan)) == (
        ["other entitled claim"],
        {"asker": "WaitingForEvictions", "v1": "WaitingForQuota"},
    )


@pytest.mark.parametrize(
    ("work", "settings", "reason"),
    [
        pytest.param([VICTIM], {}, "AskerGone", id="the asker is deleted"),
        pytest.param([VICTIM, replace(ASKER, hold=True)], {}, "AskerGone", id="the asker is held"),
        pytest.param([VICTIM, replace(ASKER, deactivated=True)], {}, "AskerGone", id="the asker is deactivated"),
        pytest.param([VICTIM, replace(ASKER, uid="anew")], {}, "AskerGone", id="a namesake of the asker"),
        pytest.param([VICTIM, replace(ASKER, request={"gpu": 5})], {}, "NoLongerFits", id="the asker wants more"),
        pytest.param(
            [VICTIM, ASKER, running("a", 4, "a0"), running("b", 4, "b0", preemptible=False)],
            {},
            "NoLongerFits",
            id="it can no longer fit after the evictions under way",
        ),
        pytest.param(
            [VICTIM, replace(ASKER, blocked_flavors=frozenset({"default"}))],
            {},
            "FlavorRefused",
            id="its flavor was refused",
        ),
        pytest.param([VICTIM, ASKER, SLOW], {"now": after(300)}, "TimedOut", id="claimTimeout is over"),
        pytest.param(
            [VICTIM, ASKER, SLOW],
            {"now": after(60), "claim_timeout": timedelta(seconds=60)},
            "TimedOut",
            id="a shorter claimTimeout is over",
        ),
    ],
)
def test_it_ends(work: list[Workload], settings: dict[str, object], reason: str) -> None:
    decided = decide("root 8\n  a 4\n  b 4..4", work, **settings)  # type: ignore[arg-type]
    assert ended(decided) == [("ns/victim", reason)]


def test_it_does_not_end_in_the_moment_in_which_its_asker_can_start() -> None:
    plan = decide(TWO, [VICTIM, ASKER], now=after(300))
    assert (told(plan), ended(plan)) == ((["asker entitled claim"], []), [])


def test_it_ends_when_the_askers_group_is_stopped() -> None:
    assert ended(decide("root 8\n  a 4\n  b 4 hold", [VICTIM, ASKER])) == [("ns/victim", "GroupStopped")]


def test_a_claim_that_stands_wakes_the_cycle_at_its_timeout() -> None:
    assert decide(TWO, [VICTIM, ASKER]).wake_at == after(300)


def test_a_claim_holds_its_askers_use_in_the_claimed_flavors_against_others_of_its_leaf() -> None:
    victim = claimed(evicting(running("a", 2, "victim")), ASKER)
    plan = decide(TWO, [running("a", 4, "a0"), victim, ASKER, pending("b", 2, "b2")])
    assert (told(plan), waits(plan)["b2"]) == (([], []), "RoomKeptForOthers")


def test_borrow_and_return() -> None:
    """Koordinator's story: a borrows all of b, b comes back and gets its min, a's last work restarts when b is done."""
    world = given(TWO, [pending("a", 2, f"a{number}", created=after(number)) for number in range(4)])
    borrowed = simulate.run(world, NOW)
    asked = simulate.run(borrowed.world.with_changes([(None, ASKER)]), after(60))
    asker = next(each for each in asked.world.buckets["b"].admitted)
    done = simulate.run(asked.world.with_changes([(asker, None)]), after(120))
    assert [told(each) for outcome in (borrowed, asked, done) for each in outcome.plans] == [
        (["a0 entitled", "a1 entitled", "a2 entitled", "a3 entitled"], []),
        ([], ["a3 Reclaim for asker", "a2 Reclaim for asker"]),
        (["asker entitled claim"], []),
        (["a2 entitled", "a3 entitled"], []),
    ]
