"""A workload that its owner releases, enlarges or moves while it waits is queued again; other edits keep its place."""

from datetime import timedelta
from typing import Any

import pytest

from shared.api.annotations import RequeueAnnotation, write_annotation
from tests.webhook.workloads.review_builders import (
    HELD,
    NOON,
    applied,
    codes,
    context,
    job,
    judge_job,
    mutate_job,
    review,
)
from webhook.verdicts import YES

HOLD = {"quotree.dev/hold": "true"}
GATE = {"hold.quotree.dev/scan": "true"}
AGAIN = '{"released":"2026-03-01T12:00:00Z"}'


def place_after(before: dict[str, Any], asked: dict[str, Any]) -> str | None:
    """The requeue annotation of what is stored; validation accepts it."""
    stored = applied(mutate_job(review(asked, before), context()), asked)
    assert judge_job(review(stored, before), context()) == YES
    text: str | None = stored["metadata"].get("annotations", {}).get("quotree.dev/requeue")
    return text


EDITS: dict[str, tuple[dict[str, Any], dict[str, Any], str | None]] = {
    "released": (job("nlp", labels=HOLD, **HELD), job("nlp", **HELD), AGAIN),
    "let go by others": (job("nlp", labels=GATE, **HELD), job("nlp", **HELD), AGAIN),
    "let go by others alone": (job("nlp", labels=HOLD | GATE, **HELD), job("nlp", labels=HOLD, **HELD), None),
    "more pods": (job("nlp", **HELD), job("nlp", parallelism=2, completions=2, **HELD), AGAIN),
    "fewer pods": (job("nlp", parallelism=2, completions=2, **HELD), job("nlp", **HELD), None),
    "held": (job("nlp", **HELD), job("nlp", labels=HOLD, **HELD), None),
    "labelled": (job("nlp", **HELD), job("nlp", labels={"app": "x"}, **HELD), None),
}


@pytest.mark.parametrize(("before", "asked", "place"), EDITS.values(), ids=EDITS)
def test_edit_sets_the_queue_time(before: dict[str, Any], asked: dict[str, Any], place: str | None) -> None:
    assert place_after(before, asked) == place


def test_old_queue_time_is_refused() -> None:
    early = write_annotation(RequeueAnnotation(released=NOON - timedelta(hours=1)))
    forged = job("nlp", annotations={"quotree.dev/requeue": early}, **HELD)
    before = job("nlp", labels=HOLD, **HELD)
    assert codes(judge_job(review(forged, before), context())) == ["ReservedAnnotation"]
    assert place_after(before, forged) == AGAIN


def test_queue_time_set_by_a_replica_with_another_clock_is_accepted() -> None:
    near = write_annotation(RequeueAnnotation(released=NOON - timedelta(minutes=1)))
    stored = job("nlp", annotations={"quotree.dev/requeue": near}, **HELD)
    assert judge_job(review(stored, job("nlp", labels=HOLD, **HELD)), context()) == YES
