"""Which podReplacementPolicy a started Job needs, and from when on."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from shared.api.core.job import Job
from shared.api.names import REPLACEMENT
from shared.cluster.state.observed.job_pods import PodSums
from shared.cluster.state.observed.pod_replacement import PolicyChange, policy_change
from shared.quota.model.workload import Eviction, EvictionReason
from tests.builders import NOW, after, pending, running
from tests.shared.cluster.state.objects import running_job

GIVEN = {REPLACEMENT: "TerminatingOrFailed"}
AT_ONCE = datetime.min.replace(tzinfo=UTC)
STARTED = running("vision", 1)


def job(policy: str, **annotations: str) -> Job:
    found = running_job(annotations=annotations)
    return msgspec.structs.replace(found, spec=msgspec.structs.replace(found.spec, pod_replacement_policy=policy))


def sums(active: int, *ends_by: datetime) -> PodSums:
    return PodSums(active, len(ends_by), {}, {}, ends_by)


CASES = {
    "none was given": (job(""), sums(1), PolicyChange("Failed", AT_ONCE)),
    "it is set": (job("Failed", **GIVEN), sums(1), None),
    "its owner chose to wait": (job("Failed"), sums(0, after(-600)), None),
    "a pod still ends": (
        job("Failed", **GIVEN),
        sums(0, after(30)),
        PolicyChange("TerminatingOrFailed", after(90)),
    ),
    "a deleted pod is replaced already": (job("Failed", **GIVEN), sums(1, after(-600)), None),
    "a lost pod is not replaced yet": (job("TerminatingOrFailed", **GIVEN), sums(0, after(-61)), None),
    "a lost pod is replaced": (
        job("TerminatingOrFailed", **GIVEN),
        sums(1, after(-61)),
        PolicyChange("Failed", AT_ONCE),
    ),
    "changed while no pod is lost": (
        job("TerminatingOrFailed", **GIVEN),
        sums(0, after(-59)),
        PolicyChange("Failed", AT_ONCE),
    ),
}


@pytest.mark.parametrize(("seen", "pods", "change"), CASES.values(), ids=CASES)
def test_policy_of_a_running_job(seen: Job, pods: PodSums, change: PolicyChange | None) -> None:
    assert policy_change(seen, STARTED, pods, NOW) == change


def test_job_that_waits_or_is_evicted_is_left_alone() -> None:
    ending = replace(STARTED, eviction=Eviction(EvictionReason.RECLAIMED, NOW))
    for workload in (pending("vision", 1), ending):
        assert policy_change(running_job(), workload, None, NOW + timedelta(days=1)) is None
