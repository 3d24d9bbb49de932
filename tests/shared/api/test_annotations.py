"""Quotree's own annotations are read as they were written; what is not as Quotree writes it is named, never guessed."""

from datetime import UTC, datetime

import pytest

from shared.api.annotations import (
    AdmissionAnnotation,
    Annotations,
    BadAnnotation,
    read_admission,
    read_annotations,
    write_annotation,
)
from shared.api.names import ADMISSION, EVICTION, NOTICE, REQUEUE

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOTE = AdmissionAnnotation(flavors={"cpu": "a100", "memory": "a100"}, time=NOON)


def test_annotation_is_read_back_as_written() -> None:
    assert read_admission({ADMISSION: write_annotation(NOTE)}) == NOTE
    assert read_admission({}) is None


def test_annotation_of_a_later_version_is_read_without_its_new_fields() -> None:
    text = write_annotation(NOTE).replace("{", '{"new": [1], ', 1)
    assert read_annotations({ADMISSION: text}) == Annotations(admission=NOTE)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            '{"flavors":{"cpu":"a100","cpu":"t4"},"time":"2026-03-01T12:00:00Z"}',
            "annotation quotree.dev/admission writes flavors.cpu twice and counts as absent",
        ),
        (
            '{"flavors":{},"time":"2026-03-01T12:00:00Z","new":{"a":1,"a":2}}',
            "annotation quotree.dev/admission writes new.a twice and counts as absent",
        ),
        (
            '{"flavors":{}}',
            "annotation quotree.dev/admission is unreadable and counts as absent: Object missing required field `time`",
        ),
        ("[" * 10_000, "annotation quotree.dev/admission is unreadable and counts as absent: Expected `object`"),
        ("{" * 70_000, "annotation quotree.dev/admission has 70000 characters; at most 65536 are read"),
    ],
    ids=["key twice", "key twice in what is new", "member missing", "deep", "long"],
)
def test_invalid_annotation_counts_as_absent_and_is_reported(text: str, why: str) -> None:
    with pytest.raises(BadAnnotation) as refused:
        read_admission({ADMISSION: text})
    assert str(refused.value).startswith(why)
    assert read_annotations({ADMISSION: text}) == Annotations(problems=(str(refused.value),))


def test_admission_of_several_pod_sets_has_flavors_of_each() -> None:
    note = AdmissionAnnotation(pod_sets={"head": {"cpu": "std"}, "workers": {"cpu": "a100"}}, time=NOON)
    text = write_annotation(note)
    assert '"podSets":{"head":{"cpu":"std"},"workers":{"cpu":"a100"}}' in text
    assert '"flavors"' not in text
    assert read_admission({ADMISSION: text}) == note
    assert note.assigned == {"head": {"cpu": "std"}, "workers": {"cpu": "a100"}}
    assert NOTE.assigned == {"main": {"cpu": "a100", "memory": "a100"}}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"time":"2026-01-01T00:00:00Z"}', "neither `flavors` nor `podSets`"),
        ('{"podSets":{"a":{"cpu":"x"},"a":{"cpu":"y"}},"time":"2026-01-01T00:00:00Z"}', "twice"),
    ],
    ids=["no flavors", "two sets of one name"],
)
def test_admission_without_flavors_or_with_a_duplicate_pod_set_counts_as_absent(text: str, problem: str) -> None:
    found = read_annotations({ADMISSION: text})
    assert found.admission is None
    assert problem in found.problems[0]


TIMES = {
    "the last moment": ("9999-12-31T23:59:00Z", "is more than a day ahead"),
    "two days ahead": ("2026-03-03T12:00:00Z", "is more than a day ahead"),
    "the first moment": ("0001-01-01T00:00:00Z", "is before 2000"),
    "1999": ("1999-12-31T23:59:59Z", "is before 2000"),
}


@pytest.mark.parametrize(("time", "problem"), TIMES.values(), ids=TIMES)
@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (ADMISSION, '{{"flavors":{{}},"time":"{}"}}'),
        (ADMISSION, '{{"flavors":{{}},"time":"2026-03-01T12:00:00Z","unreadySince":"{}"}}'),
        (EVICTION, '{{"reason":"Reclaimed","time":"{}"}}'),
        (REQUEUE, '{{"queued":"{}"}}'),
        (REQUEUE, '{{"released":"{}"}}'),
        (NOTICE, '{{"time":"{}"}}'),
    ],
)
def test_time_that_cannot_be_makes_its_annotation_absent(annotation: str, text: str, time: str, problem: str) -> None:
    found = read_annotations({annotation: text.format(time)}, NOON)
    assert (found.admission, found.eviction, found.requeue, found.notice) == (None, None, None, None)
    assert problem in found.problems[0]


def test_times_of_another_clock_and_times_to_come_are_read() -> None:
    texts = {
        ADMISSION: '{"flavors":{},"time":"2026-03-02T11:59:00Z"}',
        REQUEUE: '{"notBefore":"2030-01-01T00:00:00Z"}',
        NOTICE: '{"time":"2026-03-01T12:00:00Z","evictAt":"2030-01-01T00:00:00Z"}',
    }
    assert read_annotations(texts, NOON).problems == ()
