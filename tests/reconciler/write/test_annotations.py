"""What is written on a victim names no workload of another namespace, and still says whose claim it carries."""

from dataclasses import replace

import pytest

from reconciler.write.annotations import write_eviction, write_notice
from shared.api.annotations import read_eviction
from shared.api.names import EVICTION
from shared.quota.decide.decisions import Evict, Notice
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.read.jobs import claim_of
from shared.quota.model.workload import Claim, EvictionReason, Workload
from tests.builders import NOW, after, pending, running, world

TREE = "root 8\n  vision 4\n  nlp 4"


def evicted(preemptor: Workload) -> Evict:
    """The eviction of a workload of nlp for that one."""
    victim = running("nlp", 8, "victim", since=after(-60), evictions=2)
    (found,) = plan(measure(world(TREE, [victim, preemptor]), NOW)).evictions
    return found


OWN = pending("vision", 4, "owner")
FOREIGN = replace(OWN, key="other/hidden")


def _claim(written: str) -> Claim:
    found = claim_of(read_eviction({EVICTION: written}))
    assert found is not None
    return found


def test_preemptor_in_the_same_namespace_is_named() -> None:
    text = write_eviction(evicted(OWN), NOW)
    assert '"workload":"ns/owner"' in text
    assert _claim(text).preemptor_id == OWN.preemptor_id


def test_preemptor_in_another_namespace_is_given_by_group_and_uid() -> None:
    text = write_eviction(evicted(FOREIGN), NOW)
    assert "hidden" not in text
    assert "which a workload of group 'vision' is entitled to" in text
    claim = _claim(text)
    assert (claim.preemptor_id, claim.preemptor, claim.preemptor_group) == (FOREIGN.preemptor_id, "", "vision")


def test_eviction_annotation_counts_evictions() -> None:
    found = read_eviction({EVICTION: write_eviction(evicted(OWN), NOW)})
    assert found is not None
    assert found.times == 3


@pytest.mark.parametrize(("preemptor", "named"), [(OWN, True), (FOREIGN, False)], ids=["own", "elsewhere"])
def test_a_notice_names_only_workloads_of_the_namespace(preemptor: Workload, named: bool) -> None:
    notice = Notice(running("nlp", 8, "victim"), EvictionReason.RECLAIMED, after(60), preemptor.key)
    assert (preemptor.key in write_notice(notice, NOW)) == named
