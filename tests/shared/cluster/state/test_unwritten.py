"""Annotations that an object has no space for count as written, until they are or the object is gone."""

import pytest

from shared.api.core.job import Job
from shared.api.core.metadata import Metadata
from shared.api.names import ADMISSION, EVICTION, NOTICE
from shared.cluster.state.expected.unwritten import UnwrittenAnnotations


def kept_over(job: Job, unwritten: UnwrittenAnnotations) -> dict[str, str]:
    (seen,) = unwritten.over("k", [job])
    return seen.metadata.annotations


@pytest.fixture
def job() -> Job:
    return Job(metadata=Metadata(name="j", annotations={ADMISSION: "a", "own": "x"}))


def test_unwritten_annotations_override_and_remove_written_ones(job: Job) -> None:
    unwritten = UnwrittenAnnotations()
    unwritten.keep("k", {EVICTION: "e", ADMISSION: None})
    unwritten.keep("k", {NOTICE: "n"})
    assert kept_over(job, unwritten) == {"own": "x", EVICTION: "e", NOTICE: "n"}
    assert job.metadata.annotations == {ADMISSION: "a", "own": "x"}


def test_unwritten_annotations_are_dropped_once_written(job: Job) -> None:
    unwritten = UnwrittenAnnotations()
    unwritten.keep("k", {EVICTION: "e", NOTICE: "n"})
    unwritten.drop("k", {NOTICE: None})
    assert kept_over(job, unwritten) == {ADMISSION: "a", "own": "x", EVICTION: "e"}
    unwritten.drop("k")
    assert unwritten.over("k", [job])[0] is job
