"""Objects that operators create for a started object pass with its label; other users' objects cannot claim it."""

from typing import Any

import pytest

from tests.webhook.workloads.review_builders import (
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
from webhook.workloads.review_context import Cover

UNIT = "quotree.dev/unit"
MADE = context(namespace={"quotree.dev/group": "vision"}, cover=Cover("u1", "vision"))
FOREIGN = context(namespace={"quotree.dev/group": "vision"})


def owned(body: dict[str, Any], unit: str = "u1") -> dict[str, Any]:
    """The same with the label, and an owner of a governed kind."""
    owner = {"apiVersion": "example.com/v1", "kind": "Gadget", "name": "g", "uid": "u1", "controller": True}
    metadata = body["metadata"]
    labels = {**metadata.get("labels", {}), UNIT: unit}
    return {**body, "metadata": {**metadata, "labels": labels, "ownerReferences": [owner]}}


@pytest.mark.parametrize("labelled", [True, False], ids=["by its template", "by nobody yet"])
def test_pod_of_an_operator_is_not_gated_and_gets_the_label_of_its_object(labelled: bool) -> None:
    body = owned(plain_pod(None)) if labelled else plain_pod(None)
    stored = applied(mutate_pod(review(body), MADE), body)
    assert stored["metadata"]["labels"] == {UNIT: "u1", "quotree.dev/group": "vision"}
    assert stored["spec"] == body["spec"]
    assert judge_pod(review(stored), MADE) == YES
    assert mutate_pod(review(stored), MADE) == YES


def test_pod_of_an_operator_keeps_no_label_that_would_count_without_its_object() -> None:
    body = plain_pod(None, labels={"quotree.dev/preemptible": "false", "quotree.dev/pod-set": "a", "app": "x"})
    stored = applied(mutate_pod(review(body), MADE), body)
    expected = {UNIT: "u1", "quotree.dev/group": "vision", "quotree.dev/pod-set": "a", "app": "x"}
    assert stored["metadata"]["labels"] == expected


def test_wrong_object_label_of_an_operator_pod_is_corrected() -> None:
    body = owned(plain_pod("vision"), "u2")
    assert codes(judge_pod(review(body), MADE)) == ["ReservedLabel"]
    assert applied(mutate_pod(review(body), MADE), body)["metadata"]["labels"][UNIT] == "u1"


def test_pod_of_an_operator_cannot_carry_an_admission() -> None:
    body = owned(plain_pod("vision"))
    body["metadata"]["annotations"] = {"quotree.dev/admission": "{}"}
    assert codes(judge_pod(review(body), MADE)) == ["ReservedAnnotation"]


def test_same_pod_from_another_user_is_gated_and_its_label_refused() -> None:
    body = owned(plain_pod("vision"))
    stored = applied(mutate_pod(review(body), FOREIGN), body)
    assert stored["spec"]["schedulingGates"] == [{"name": "quotree.dev/admission"}]
    assert codes(judge_pod(review(stored), FOREIGN)) == ["ReservedLabel"]


@pytest.mark.parametrize("managed", [True, False], ids=["managed", "unmanaged"])
def test_object_label_of_a_pod_cannot_be_added_or_removed_later(managed: bool) -> None:
    where = FOREIGN if managed else context()
    plain, made = plain_pod(None), owned(plain_pod(None))
    assert codes(judge_pod(review(made, plain), where)) == ["ReservedLabel"]
    assert codes(judge_pod(review(plain, made), where)) == ["ReservedLabel", "ChildChanged"]
    assert codes(judge_pod(review(owned(plain_pod(None), "u2"), made), where)) == ["ReservedLabel"]
    assert judge_pod(review(made, made), where) == YES


def test_job_of_an_operator_is_neither_held_nor_given_a_group() -> None:
    body = job(None, suspend=False)
    stored = applied(mutate_job(review(body), MADE), body)
    assert stored == {**body, "metadata": {**body["metadata"], "labels": {UNIT: "u1"}}}
    assert judge_job(review(stored), MADE) == YES


def test_job_with_the_object_label_from_another_user_is_held_and_refused() -> None:
    body = owned(job("vision", suspend=False))
    stored = applied(mutate_job(review(body), FOREIGN), body)
    assert stored["spec"]["suspend"] is True
    assert codes(judge_job(review(stored), FOREIGN)) == ["ReservedLabel"]


def test_job_with_the_object_label_in_its_template_is_refused() -> None:
    body = job("vision", suspend=True)
    body["spec"]["template"]["metadata"] = {"labels": {UNIT: "u1"}}
    assert codes(judge_job(review(body), FOREIGN)) == ["ReservedLabel"]


HELD = owned(job(None, suspend=True))
RUNNING = owned(job(None, suspend=False))


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (HELD, RUNNING, "OnlyReconcilerStarts"),
        (RUNNING, owned(job(None, suspend=False, parallelism=9, completions=9)), "GrowthWhileRunning"),
        (RUNNING, owned(job(None, suspend=False), "u2"), "ReservedLabel"),
    ],
    ids=["starts it", "enlarges it", "takes the label"],
)
def test_only_the_operator_can_change_its_jobs(old: Any, new: Any, code: str) -> None:
    assert codes(judge_job(review(new, old), FOREIGN)) == [code]
    by_operator = context(namespace={"quotree.dev/group": "vision"}, by_operator=True)
    expected = [code] if code == "ReservedLabel" else []
    assert codes(judge_job(review(new, old), by_operator)) == expected
    assert mutate_job(review(new, old), by_operator) == YES


def test_owner_can_suspend_a_job_of_an_operator() -> None:
    assert judge_job(review(HELD, RUNNING), FOREIGN) == YES


def changed(body: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {**body, "metadata": {**body["metadata"], **metadata}}


LABELS = {UNIT: "u1", "quotree.dev/group": "vision", "ray.io/cluster": "g"}
DETACHED: dict[str, dict[str, Any]] = {
    "without an owner": {"ownerReferences": []},
    "of another owner": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "uid": "x", "controller": True}]},
    "without a label": {"labels": {key: LABELS[key] for key in (UNIT, "quotree.dev/group")}},
    "with another label": {"labels": {**LABELS, "ray.io/cluster": "other"}},
}


@pytest.mark.parametrize("change", DETACHED.values(), ids=DETACHED)
@pytest.mark.parametrize(("make", "judge"), [(plain_pod, judge_pod), (job, judge_job)], ids=["pod", "Job"])
def test_only_the_operator_can_detach_what_it_made(make: Any, judge: Any, change: dict[str, Any]) -> None:
    before = owned(make("vision", labels={"ray.io/cluster": "g"}))
    after = changed(before, **change)
    assert codes(judge(review(after, before), FOREIGN)) == ["ChildChanged"]
    assert judge(review(after, before), context(namespace={"quotree.dev/group": "vision"}, by_operator=True)) == YES


def test_labels_can_be_added_to_what_an_operator_made() -> None:
    before = owned(plain_pod("vision"))
    after = changed(before, labels={**before["metadata"]["labels"], "seen": "yes"})
    assert judge_pod(review(after, before), FOREIGN) == YES
