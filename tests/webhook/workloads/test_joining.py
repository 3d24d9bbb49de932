"""An edit that makes an object managed is judged as its creation: nothing it carries of Quotree's was ever judged."""

import json
from typing import Any

import pytest

from tests.webhook.workloads.review_builders import (
    HELD,
    admitted,
    applied,
    codes,
    context,
    job,
    judge_job,
    judge_pod,
    mutate_job,
    mutate_pod,
    plain_pod,
    review,
)
from webhook.verdicts import YES

UNIT = {"quotree.dev/unit": "u1"}
CLAIM = {"uid": "waiting", "flavors": {"cpu": "t4"}}
EVICTION = {"quotree.dev/eviction": json.dumps({"reason": "Reclaimed", "time": "9999-12-31T23:59:00Z", "for": CLAIM})}
QUEUED = {"quotree.dev/requeue": json.dumps({"queued": "2001-01-01T00:00:00Z"})}
FORGED = {"an admission": admitted("t4"), "an eviction with a claim": EVICTION, "a place in the queue": QUEUED}


@pytest.mark.parametrize("annotations", FORGED.values(), ids=FORGED)
def test_job_with_an_annotation_of_quotree_cannot_join_a_group(annotations: dict[str, str]) -> None:
    before, after = (job(group, annotations=annotations, **HELD) for group in (None, "nlp"))
    assert codes(judge_job(review(after, before), context())) == ["ReservedAnnotation"]


def test_job_joins_a_group_with_a_place_in_the_queue_of_its_own() -> None:
    before, after = (job(group, annotations=QUEUED, **HELD) for group in (None, "nlp"))
    stored = applied(mutate_job(review(after, before), context()), after)
    assert json.loads(stored["metadata"]["annotations"]["quotree.dev/requeue"]) == {"released": "2026-03-01T12:00:00Z"}
    assert judge_job(review(stored, before), context()) == YES


def test_job_without_any_annotation_joins() -> None:
    before, after = (job(group, **HELD) for group in (None, "nlp"))
    stored = applied(mutate_job(review(after, before), context()), after)
    assert judge_job(review(stored, before), context()) == YES


@pytest.mark.parametrize("place", ["labels", "template labels", "template annotations"])
def test_job_that_says_it_was_made_for_another_object_cannot_join(place: str) -> None:
    def made(group: str | None) -> dict[str, Any]:
        body = job(group, labels=UNIT if place == "labels" else {}, **HELD)
        if place != "labels":
            metadata = {"labels": UNIT} if place == "template labels" else {"annotations": admitted("t4")}
            body["spec"]["template"]["metadata"] = metadata
        return body

    expected = "ReservedAnnotation" if place == "template annotations" else "ReservedLabel"
    assert codes(judge_job(review(made("nlp"), made(None)), context())) == [expected]


def test_operator_may_label_the_job_that_it_has_made() -> None:
    before, after = (job(group, labels=UNIT, **HELD) for group in (None, "nlp"))
    assert judge_job(review(after, before), context(by_operator=True)) == YES


@pytest.mark.parametrize("annotations", FORGED.values(), ids=FORGED)
def test_gated_pod_with_an_annotation_of_quotree_cannot_join_a_group(annotations: dict[str, str]) -> None:
    gate = [{"name": "quotree.dev/admission"}]
    before, after = (plain_pod(group, annotations=annotations, schedulingGates=gate) for group in (None, "nlp"))
    stored = applied(mutate_pod(review(after, before), context()), after)
    expected = [] if annotations is QUEUED else ["ReservedAnnotation"]
    assert codes(judge_pod(review(stored, before), context())) == expected
    assert "2001" not in stored["metadata"]["annotations"].get("quotree.dev/requeue", "")


def test_gated_pod_that_says_it_was_made_for_another_object_cannot_join() -> None:
    gate = [{"name": "quotree.dev/admission"}]
    before, after = (plain_pod(group, labels=UNIT, schedulingGates=gate) for group in (None, "nlp"))
    assert codes(judge_pod(review(after, before), context())) == ["ReservedLabel"]
