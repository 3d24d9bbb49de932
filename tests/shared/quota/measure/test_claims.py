"""Claims are read from the victims, and end for the numbers when their asker has started."""

from dataclasses import replace

from shared.quota.measure.leaves import HeldClaim
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.workload import AskerId, Eviction, EvictionReason, Workload
from tests.builders import NOW, after, claimed, evicting, pending, running, world
from tests.trees import KEY

TREE = "root 20\n a 10\n b 10"
ASKER = pending("a", 3, "asker")


def measured(*work: Workload) -> Snapshot:
    return measure(world(TREE, work), after(60))


def test_a_claim_gathers_its_victims_and_dates_from_the_first() -> None:
    one = evicting(running("b", 2, "one"), ASKER, at=after(5))
    two = evicting(running("b", 2, "two"), ASKER, at=after(1))
    claim = HeldClaim(AskerId("ns/asker", "asker"), ASKER, {"gpu": "default"}, after(1), (one, two))
    snapshot = measured(ASKER, two, one)
    assert dict(snapshot.claims) == {claim.asker_id: claim}
    assert dict(snapshot.leaves["a"].claims) == {claim.asker_id: claim}
    assert dict(snapshot.leaves["b"].claims) == {}


def test_a_claim_outlives_the_victims_pods() -> None:
    victim = claimed(pending("b", 2, "victim"), ASKER)
    assert list(measured(ASKER, victim).leaves["a"].claims) == [ASKER.asker_id]


def test_a_claim_is_fulfilled_when_its_asker_has_started() -> None:
    victim = evicting(running("b", 2, "victim"), ASKER)
    assert dict(measured(running("a", 3, "asker"), victim).claims) == {}


def test_a_claim_stays_fulfilled_when_its_asker_is_evicted_later() -> None:
    again = replace(ASKER, eviction=Eviction(EvictionReason.RECLAIMED, after(20)))
    old = claimed(pending("b", 2, "old"), ASKER, at=after(10))
    new = evicting(running("b", 2, "new"), ASKER, at=after(30))
    assert dict(measured(again, old).claims) == {}
    assert measured(again, old, new).claims[ASKER.asker_id].victims == (new,)


def test_a_claim_for_work_that_is_gone_or_not_considered_has_no_asker() -> None:
    victim = evicting(running("b", 2, "victim"), ASKER)
    namesake = replace(ASKER, uid="another")
    for others in (
        [],
        [namesake],
        [replace(ASKER, hold=True)],
        [replace(ASKER, deactivated=True)],
        [replace(ASKER, not_before=after(61))],
        [replace(ASKER, group="nowhere")],
    ):
        snapshot = measured(*others, victim)
        assert snapshot.claims[ASKER.asker_id].asker is None
        assert dict(snapshot.leaves["a"].claims) == {}
    assert measured(replace(ASKER, not_before=after(60)), victim).claims[ASKER.asker_id].asker is not None


def test_a_swaps_claim_says_so() -> None:
    victim = evicting(running("a", 4, "victim"), ASKER)
    assert victim.claim is not None
    swapped = replace(victim, claim=replace(victim.claim, swap=True))
    assert measured(ASKER, swapped).claims[ASKER.asker_id].swap


def test_used_counts_no_claims() -> None:
    victim = evicting(running("b", 2, "victim"), ASKER)
    numbers = measured(ASKER, victim).numbers
    assert (numbers["a"][KEY].used, numbers["a"][KEY].charge, numbers["a"][KEY].request) == (0, 0, 3)
    assert numbers["b"][KEY].used == 2


def test_claims_follow_the_changes_of_a_world() -> None:
    victim = evicting(running("b", 2, "victim"), ASKER)
    start = world(TREE, [ASKER])
    with_claim = start.with_changes([(None, victim)])
    assert list(measure(with_claim, NOW).claims) == [ASKER.asker_id]
    started = with_claim.with_changes([(ASKER, running("a", 3, "asker"))])
    assert list(measure(started, NOW).claims) == []
    without = with_claim.with_changes([(victim, None)])
    assert (dict(without.victims), dict(without.askers)) == ({}, {})
    asker_gone = with_claim.with_changes([(ASKER, None)])
    assert measure(asker_gone, NOW).claims[ASKER.asker_id].asker is None
    back = asker_gone.with_changes([(None, ASKER)])
    assert measure(back, NOW).claims[ASKER.asker_id].asker is ASKER
