"""What a Job was read as is used again only where it would be read alike."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from shared.api.core.job import Job, read_job
from shared.cluster.state.observed.job_readings import KnownReadings
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.jobs import Reading, workload_of_job
from shared.quota.model.settings import QuotaSettings

AROUND, SETTINGS = NamespaceContext(), QuotaSettings()
ADMISSION = '{"flavors":{"cpu":"default"},"time":"2026-11-01T00:00:00Z"}'
STARTED = {"quotree.dev/admission": ADMISSION}
RUNS: dict[str, Any] = {"startTime": "2026-11-01T00:00:00Z", "active": 2}
SUSPENDED: dict[str, Any] = {"type": "Suspended", "status": "True", "lastTransitionTime": "2026-11-01T00:00:00Z"}
LATER = SUSPENDED | {"lastTransitionTime": "2026-11-02T00:00:00Z"}


def job(annotations: dict[str, str] | None = None, /, *, suspend: bool = False, **status: Any) -> Job:
    metadata = {"name": "train", "namespace": "ns", "uid": "u", "labels": {"quotree.dev/group": "vision"}}
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    spec = {"suspend": suspend, "parallelism": 2, "completions": 2, "template": {"spec": {"containers": [container]}}}
    return read_job({"metadata": {**metadata, "annotations": annotations or {}}, "spec": spec, "status": status})


def with_spec_of(first: Job, second: Job) -> Job:
    """Return the second with the spec of the first, as projections share equal ones."""
    return msgspec.structs.replace(second, spec=first.spec) if second.spec == first.spec else second


def read_in_turn(jobs: Sequence[Job], around: Sequence[NamespaceContext] = (AROUND, AROUND)) -> list[Reading | None]:
    """Return what is known of each Job before it is read."""
    known, found = KnownReadings(), []
    for each, context in zip(jobs, around, strict=True):
        found.append(known.find("u", each, context))
        known.keep("u", each, context, workload_of_job(each, context, SETTINGS))
    return found


ALIKE = {
    "its controller notes the start": (job(STARTED), job(STARTED, startTime=RUNS["startTime"])),
    "its pods are made": (job(STARTED, startTime=RUNS["startTime"]), job(STARTED, **RUNS)),
    "its controller notes that it is suspended": (job(suspend=True), job(suspend=True, conditions=[SUSPENDED])),
}


@pytest.mark.parametrize(("before", "after"), ALIKE.values(), ids=ALIKE)
def test_a_status_that_decides_nothing_is_not_read(before: Job, after: Job) -> None:
    assert read_in_turn([before, with_spec_of(before, after)])[1] == workload_of_job(after, AROUND, SETTINGS)


OTHERWISE = {
    "its pods are ready": (job(STARTED, **RUNS), job(STARTED, **RUNS, ready=2)),
    "a pod has succeeded": (job(STARTED, **RUNS), job(STARTED, **RUNS | {"active": 1, "succeeded": 1})),
    "it is started": (job(suspend=True), job(STARTED)),
    "it is suspended": (job(STARTED, **RUNS), job(STARTED, suspend=True, **RUNS)),
    "its annotations change": (job(STARTED, **RUNS), job({**STARTED, "quotree.dev/notice": "{}"}, **RUNS)),
}


@pytest.mark.parametrize(("before", "after"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_decides_is_read(before: Job, after: Job) -> None:
    assert read_in_turn([before, with_spec_of(before, after)])[1] is None


def test_when_it_was_suspended_is_read_while_it_has_pods() -> None:
    first, second = (job(STARTED, suspend=True, active=1, conditions=[each]) for each in (SUSPENDED, LATER))
    assert read_in_turn([first, with_spec_of(first, second)])[1] is None


def test_it_is_read_in_another_context() -> None:
    seen = job(STARTED, **RUNS)
    assert read_in_turn([seen, seen], [AROUND, NamespaceContext()])[1] is None


def test_what_has_a_problem_is_read_each_time_because_time_can_cure_it() -> None:
    seen = job({"quotree.dev/admission": "none"}, **RUNS)
    assert read_in_turn([seen, seen])[1] is None


def test_a_job_that_waits_and_is_reported_takes_no_memory() -> None:
    waits = job(suspend=True, conditions=[SUSPENDED])
    assert read_in_turn([waits, waits])[1] is None


def test_a_job_that_is_gone_is_forgotten() -> None:
    known, seen = KnownReadings(), job(STARTED, **RUNS)
    known.keep("u", seen, AROUND, workload_of_job(seen, AROUND, SETTINGS))
    known.forget("u")
    assert known.find("u", seen, AROUND) is None
