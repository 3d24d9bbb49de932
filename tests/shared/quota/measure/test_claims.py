"""Claims are read from the victims, and end for the numbers when their preemptor has started."""

from dataclasses import replace

from shared.quota.measure.leaves.leaf_snapshot import OpenClaim
from shared.quota.measure.snapshot import Snapshot, measure
from shared.quota.model.workload import Eviction, EvictionReason, PreemptorId, Workload
from tests.builders import NOW, after, claimed, evicting, in_main, pending, running, world
from tests.trees import KEY

TREE = "root 20\n a 10\n b 10"
PREEMPTOR = pending("a", 3, "preemptor")


def measured(*work: Workload) -> Snapshot:
    return measure(world(TREE, work), after(60))


def test_claim_collects_its_victims_and_dates_from_the_first() -> None:
    one = evicting(running("b", 2, "one"), PREEMPTOR, at=after(5))
    two = evicting(running("b", 2, "two"), PREEMPTOR, at=after(1))
    claim = OpenClaim(PreemptorId("", "preemptor"), PREEMPTOR, in_main({"gpu": "default"}), after(1), (one, two))
    snapshot = measured(PREEMPTOR, two, one)
    assert dict(snapshot.claims) == {claim.preemptor_id: claim}
    assert dict(snapshot.leaves["a"].claims) == {claim.preemptor_id: claim}
    assert dict(snapshot.leaves["b"].claims) == {}


def test_preemptor_of_which_a_claim_has_the_uid_alone_is_found_in_all_groups() -> None:
    victim = claimed(pending("b", 2, "victim"), PREEMPTOR)
    assert victim.claim is not None
    unnamed = replace(victim, claim=replace(victim.claim, preemptor=""))
    before = world(TREE, [PREEMPTOR, pending("a", 1, "other")])
    snapshot = measure(before.with_changes([(None, unnamed)]), after(60))
    assert list(snapshot.leaves["a"].claims) == [PREEMPTOR.preemptor_id]
    assert dict(snapshot.world.preemptors) == {PREEMPTOR.preemptor_id: PREEMPTOR}


def test_claim_outlives_the_pods_of_its_victim() -> None:
    victim = claimed(pending("b", 2, "victim"), PREEMPTOR)
    assert list(measured(PREEMPTOR, victim).leaves["a"].claims) == [PREEMPTOR.preemptor_id]


def test_a_claim_is_fulfilled_when_its_preemptor_has_started() -> None:
    victim = evicting(running("b", 2, "victim"), PREEMPTOR)
    assert dict(measured(running("a", 3, "preemptor"), victim).claims) == {}


def test_a_claim_stays_fulfilled_when_its_preemptor_is_evicted_later() -> None:
    again = replace(PREEMPTOR, eviction=Eviction(EvictionReason.RECLAIMED, after(20)))
    old = claimed(pending("b", 2, "old"), PREEMPTOR, at=after(10))
    new = evicting(running("b", 2, "new"), PREEMPTOR, at=after(30))
    assert dict(measured(again, old).claims) == {}
    assert measured(again, old, new).claims[PREEMPTOR.preemptor_id].victims == (new,)


def test_claim_made_when_its_preemptor_was_evicted_is_a_new_one() -> None:
    again = replace(PREEMPTOR, eviction=Eviction(EvictionReason.RECLAIMED, after(20)))
    victim = evicting(running("b", 2, "victim"), PREEMPTOR, at=after(20))
    assert list(measured(again, victim).claims) == [PREEMPTOR.preemptor_id]


def test_claim_for_a_missing_or_unconsidered_workload_has_no_preemptor() -> None:
    victim = evicting(running("b", 2, "victim"), PREEMPTOR)
    namesake = replace(PREEMPTOR, uid="another")
    for others in (
        [],
        [namesake],
        [replace(PREEMPTOR, hold=True)],
        [replace(PREEMPTOR, deactivated=True)],
        [replace(PREEMPTOR, not_before=after(61))],
        [replace(PREEMPTOR, group="nowhere")],
    ):
        snapshot = measured(*others, victim)
        assert snapshot.claims[PREEMPTOR.preemptor_id].preemptor is None
        assert dict(snapshot.leaves["a"].claims) == {}
    assert (
        measured(replace(PREEMPTOR, not_before=after(60)), victim).claims[PREEMPTOR.preemptor_id].preemptor is not None
    )


def test_claim_of_a_swap_is_marked() -> None:
    victim = evicting(running("a", 4, "victim"), PREEMPTOR)
    assert victim.claim is not None
    swapped = replace(victim, claim=replace(victim.claim, swap=True))
    assert measured(PREEMPTOR, swapped).claims[PREEMPTOR.preemptor_id].swap


def test_used_excludes_claims() -> None:
    victim = evicting(running("b", 2, "victim"), PREEMPTOR)
    numbers = measured(PREEMPTOR, victim).numbers
    assert (numbers["a"][KEY].used, numbers["a"][KEY].charge, numbers["a"][KEY].request) == (0, 0, 3)
    assert numbers["b"][KEY].used == 2


def test_claims_are_updated_incrementally() -> None:
    victim = evicting(running("b", 2, "victim"), PREEMPTOR)
    start = world(TREE, [PREEMPTOR])
    with_claim = start.with_changes([(None, victim)])
    assert list(measure(with_claim, NOW).claims) == [PREEMPTOR.preemptor_id]
    started = with_claim.with_changes([(PREEMPTOR, running("a", 3, "preemptor"))])
    assert list(measure(started, NOW).claims) == []
    first, more = measure(with_claim, NOW), evicting(running("b", 1, "more"), PREEMPTOR)
    second = measure(with_claim.with_changes([(None, more)]), NOW, first)
    assert dict(second.leaves["a"].claims) == dict(second.claims) != dict(first.claims)
    changed = replace(PREEMPTOR, priority=7)
    third = measure(with_claim.with_changes([(PREEMPTOR, changed)]), NOW, first)
    assert [each.preemptor for each in third.leaves["a"].claims.values()] == [changed]
    without = with_claim.with_changes([(victim, None)])
    assert (dict(without.victims), dict(without.preemptors)) == ({}, {})
    preemptor_gone = with_claim.with_changes([(PREEMPTOR, None)])
    assert measure(preemptor_gone, NOW).claims[PREEMPTOR.preemptor_id].preemptor is None
    back = preemptor_gone.with_changes([(None, PREEMPTOR)])
    assert measure(back, NOW).claims[PREEMPTOR.preemptor_id].preemptor is PREEMPTOR


def test_preemptor_that_a_claim_names_without_a_uid_is_found_when_the_claim_is_seen() -> None:
    preemptor = replace(PREEMPTOR, uid="")
    victim = evicting(running("b", 2, "victim"), preemptor)
    seen = world(TREE, [preemptor]).with_changes([(None, victim)])
    assert measure(seen, NOW).claims[preemptor.preemptor_id].preemptor is preemptor


def test_preemptor_is_as_it_is_now_though_it_waited_while_another_claim_was_for_nobody() -> None:
    gone = claimed(pending("b", 2, "one"), replace(PREEMPTOR, key="ns/gone", uid="gone"))
    found, raised = world(TREE, [PREEMPTOR, gone]), replace(PREEMPTOR, priority=9)
    found = found.with_changes([(PREEMPTOR, raised)])
    found = found.with_changes([(None, claimed(pending("b", 2, "two"), raised))])
    assert [claim.preemptor for claim in measure(found, after(60)).leaves["a"].claims.values()] == [raised]
