"""A Job that is written for Kueue is managed in the group that its queue means, and applying it again stops nothing."""

from typing import Any

import pytest

from tests.webhook.workloads.review_builders import (
    HELD,
    RECONCILER,
    admitted,
    applied,
    codes,
    context,
    job,
    judge_job,
    mutate_job,
    review,
)
from webhook.workloads.dialects import QueueLabels
from webhook.workloads.review_context import ReviewContext

QUEUE = "kueue.x-k8s.io/queue-name"
GROUPS = {"team-a/main": "vision", "main": "nlp", "team-b/other": "own"}


def in_dialect(*, is_new: bool = True, **more: Any) -> ReviewContext:
    return context(queues=QueueLabels(GROUPS, "team-a", is_new), **more)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({QUEUE: "main"}, "vision"),
        ({QUEUE: "nlp"}, "nlp"),
        ({QUEUE: "other"}, "other"),
        ({QUEUE: "main", "quotree.dev/group": "nlp"}, "nlp"),
        ({QUEUE: ""}, None),
        ({}, None),
    ],
    ids=["of its namespace", "a group's name", "of another namespace", "own group", "empty", "no queue"],
)
@pytest.mark.parametrize("suspended", [True, False])
def test_queue_of_a_new_job_is_its_group(labels: dict[str, str], expected: str | None, suspended: bool) -> None:
    new = job(None, labels=labels, suspend=suspended)
    made = applied(mutate_job(review(new), in_dialect()), new)
    assert (made["metadata"].get("labels") or {}).get("quotree.dev/group") == expected
    assert made["spec"]["suspend"] == (suspended or expected is not None)
    assert codes(judge_job(review(made), in_dialect())) == (["GroupAbsent"] if expected == "other" else [])


def test_queue_beyond_the_binding_label_of_a_namespace_is_refused() -> None:
    new, bound = job(None, labels={QUEUE: "main"}, suspend=True), {"quotree.dev/group": "nlp"}
    made = applied(mutate_job(review(new), in_dialect(namespace=bound)), new)
    assert made["metadata"]["labels"]["quotree.dev/group"] == "vision"
    assert codes(judge_job(review(made), in_dialect(namespace=bound))) != []


def test_label_means_nothing_without_the_dialect_and_for_what_exists() -> None:
    new = job(None, labels={QUEUE: "main"})
    assert applied(mutate_job(review(new), context()), new) == new
    edited = {**new, "spec": {**new["spec"], "parallelism": 2}}
    assert applied(mutate_job(review(edited, new), in_dialect(is_new=False)), edited) == edited


@pytest.mark.parametrize(
    ("labels", "group", "known", "expected"),
    [
        ({QUEUE: "main"}, "vision", in_dialect(is_new=False), []),
        ({QUEUE: "main"}, "nlp", in_dialect(is_new=False), ["FrozenWhileRunning"]),
        ({}, "vision", in_dialect(is_new=False), ["FrozenWhileRunning"]),
        ({QUEUE: "main"}, "vision", context(), ["FrozenWhileRunning"]),
    ],
    ids=["its queue's group", "another group", "no queue", "without the dialect"],
)
def test_what_kueue_has_started_joins_the_group_of_its_queue_as_it_runs(
    labels: dict[str, str], group: str, known: ReviewContext, expected: list[str]
) -> None:
    before = job(None, labels=labels)
    after = job(None, labels={QUEUE: "main", "quotree.dev/group": group})
    assert codes(judge_job(review(after, before), known)) == expected


RUNNING = job(labels={QUEUE: "main"}, annotations=admitted("a100"))
AGAIN = {**RUNNING, "spec": {**RUNNING["spec"], **HELD}}


def test_chart_that_is_applied_again_does_not_stop_its_job() -> None:
    known = in_dialect(is_new=False)
    made = applied(mutate_job(review(AGAIN, RUNNING), known), AGAIN)
    assert made == RUNNING
    assert codes(judge_job(review(made, RUNNING), known)) == []


@pytest.mark.parametrize(
    ("after", "known"),
    [
        (AGAIN, context()),
        (job(labels={QUEUE: "main", "quotree.dev/hold": "true"}, annotations=admitted("a100"), **HELD), None),
        (job(annotations=admitted("a100"), **HELD), None),
    ],
    ids=["without the dialect", "with the label of a hold", "without a queue"],
)
def test_owner_can_still_stop_a_job(after: dict[str, Any], known: ReviewContext | None) -> None:
    before = {**after, "spec": {**after["spec"], "suspend": False}}
    made = applied(mutate_job(review(after, before), known or in_dialect(is_new=False)), after)
    assert (made["spec"]["suspend"], made["metadata"]["labels"]["quotree.dev/hold"]) == (True, "true")


def test_reconciler_stops_it_as_any_other() -> None:
    verdict = mutate_job(review(AGAIN, RUNNING, RECONCILER), in_dialect(is_new=False))
    assert applied(verdict, AGAIN) == AGAIN
