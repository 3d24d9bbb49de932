"""What Jobs tell of starts that ended while nobody led: those that finished, and those that were evicted."""

from typing import Any

import msgspec
import pytest

from shared.api.core.job import Job, read_job
from shared.api.names import ADMISSION, EVICTION, GROUP_LABEL, UNIT_LABEL
from shared.cluster.state.ended_jobs import ended_uses
from shared.quota.measure.accounts.leaf_use import EndedUse, run_of
from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.jobs import workload_of_job
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Workload
from shared.resources import FlavorResource
from tests.builders import after

CPU = FlavorResource("a100", "cpu")
ADMITTED = {"time": "2026-01-01T00:00:01.250000Z", "flavors": {"cpu": "a100"}}
EVICTED = {
    "reason": "Reclaimed",
    "since": "2026-01-01T00:00:01.250000Z",
    "time": "2026-01-01T00:00:20Z",
    "ended": "2026-01-01T00:00:23Z",
    "flavors": {"cpu": "a100"},
}
DONE = [{"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:40Z"}]


def job(annotations: dict[str, Any], conditions: list[dict[str, Any]], labels: dict[str, str] | None = None) -> Job:
    container = {"name": "main", "resources": {"requests": {"cpu": "2"}}}
    texts = {name: msgspec.json.encode(value).decode() for name, value in annotations.items()}
    metadata = {"name": "x", "namespace": "ns", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    body: dict[str, Any] = {
        "metadata": {**metadata, "annotations": texts, "labels": {GROUP_LABEL: "vision", **(labels or {})}},
        "spec": {"parallelism": 3, "completions": 3, "template": {"spec": {"containers": [container]}}},
        "status": {"conditions": conditions, "succeeded": 3 if conditions else 0},
    }
    body["spec"] = {**body["spec"], "suspend": not conditions}
    return read_job(msgspec.json.encode(body))


def read(seen: Job) -> Workload | None:
    return workload_of_job(seen, NamespaceContext(), QuotaSettings()).workload


def use(end: float, evicted: float | None = None) -> EndedUse:
    start = "u", milliseconds(after(1.25))
    at = None if evicted is None else milliseconds(after(evicted))
    return EndedUse("vision", "ns", start, {CPU: 6000}, milliseconds(after(end)), at)


def ran(end: float, start: float = 1.25) -> EndedUse:
    """That of a Job that finished."""
    seen = Workload("ns/x", "vision", {"cpu": 6000}, after(0), after(0))
    found = use(end)._replace(start=("u", milliseconds(after(start))))
    return found._replace(run=run_of(seen, found.start, found.end))


LATER = {"time": "2026-01-01T00:00:30Z", "flavors": {"cpu": "a100"}}
CASES = {
    "finished": (job({ADMISSION: ADMITTED}, DONE), [ran(40)]),
    "evicted": (job({EVICTION: EVICTED}, []), [use(23, 20)]),
    "evicted, its end not noted": (job({EVICTION: {**EVICTED, "ended": None}}, []), [use(20, 20)]),
    "suspended by its owner": (job({EVICTION: {**EVICTED, "reason": "Suspended"}}, []), [use(23)]),
    "evicted, then finished": (
        job({EVICTION: EVICTED, ADMISSION: LATER}, DONE),
        [ran(40, 30), use(23, 20)],
    ),
    "never admitted": (job({}, DONE), []),
    "runs": (job({ADMISSION: ADMITTED}, []), []),
    "made for an object of a governed kind": (job({ADMISSION: ADMITTED}, DONE, {UNIT_LABEL: "o"}), []),
}


@pytest.mark.parametrize("case", CASES)
def test_starts_that_ended(case: str) -> None:
    seen, expected = CASES[case]
    assert [*ended_uses(seen, read)] == expected
