"""Objects of governed kinds are held when they come, and started by the reconciler alone."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from shared.api.names import ADMISSION, HOLD_LABEL
from shared.api.review import Review
from shared.kinds.kind import compile_kind
from shared.kinds.presets import read_preset
from shared.quota.model.rules.workloads.submitted_workload import NeverFits
from tests.shared.kinds.objects import entry, jobset, metadata, preset, replicated
from tests.webhook.workloads.review_builders import RECONCILER, applied, codes, context, deleting, refusals, review
from webhook.verdicts import YES, Allow, Verdict
from webhook.workloads import reviews
from webhook.workloads.governed import children, scales
from webhook.workloads.review_context import Cover, ReviewContext
from webhook.workloads.sorts.kind_object import KindReviews

JOBSET = preset("JobSet")
UNIT = "quotree.dev/unit"
mutate: Callable[[Review, ReviewContext], Verdict] = partial(reviews.mutate, KindReviews(JOBSET))
judge: Callable[[Review, ReviewContext], Verdict] = partial(reviews.judge, KindReviews(JOBSET))
ADMITTED = '{"podSets":{"driver":{"cpu":"a100"},"workers":{"cpu":"t4"}},"time":"2026-03-01T12:00:00Z"}'


def a_set(group: str | None = "nlp", *, workers: int = 2, cpu: str = "1", suspend: Any = None, **about: Any) -> Any:
    """A driver and workers; `unit`: the label of every template."""
    unit, status = about.pop("unit", ""), about.pop("status", {})
    body = jobset(replicated("driver"), replicated("workers", cpu, workers))
    if suspend is not None:
        body["spec"]["suspend"] = suspend
    for each in body["spec"]["replicatedJobs"]:
        if unit:
            each["template"]["spec"]["template"]["metadata"] = {"labels": {UNIT: unit}}
    labels = {**({} if group is None else {"quotree.dev/group": group}), **about.pop("labels", {})}
    if labels:
        about["labels"] = labels
    return {**body, "metadata": metadata(**about), "status": status}


def running(**changes: Any) -> Any:
    return a_set(**{"suspend": False, "annotations": {ADMISSION: ADMITTED}, "unit": "uid-train", **changes})


def test_new_object_is_only_held_and_labelled() -> None:
    body = a_set(None)
    where = context(namespace={"quotree.dev/group": "nlp"})
    stored = applied(mutate(review(body), where), body)
    assert stored == a_set("nlp", suspend=True)
    assert judge(review(stored), where) == YES
    assert mutate(review(stored), where) == YES


def test_an_object_that_the_mutation_did_not_hold_is_refused() -> None:
    found = judge(review(a_set(suspend=False)), context())
    assert codes(found) == ["OnlyReconcilerStarts"]
    assert "leave spec.suspend as it is" in refusals(found)[0]


def test_unmanaged_object_is_allowed_unchanged() -> None:
    assert mutate(review(a_set(None)), context()) == YES
    assert judge(review(a_set(None)), context()) == YES
    assert judge(review(a_set(None, suspend=True), a_set(None)), context()) == YES


def test_an_object_without_a_group_in_a_managed_namespace_is_refused() -> None:
    where = context(namespace={"quotree.dev/managed": "true"})
    assert codes(mutate(review(a_set(None)), where)) == ["GroupAbsent"]
    assert codes(judge(review(a_set(None)), where)) == ["GroupAbsent"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (a_set("absent", suspend=True), "GroupAbsent"),
        (a_set("research", suspend=True), "GroupNotLeaf"),
        (a_set(suspend=True, workers=-1), "KindUnreadable"),
        (a_set(suspend="yes"), "KindUnreadable"),
        (a_set(suspend=True, annotations={ADMISSION: ADMITTED}), "ReservedAnnotation"),
        (a_set(suspend=True, labels={UNIT: "u1"}), "ReservedLabel"),
        (a_set(suspend=True, unit="u1"), "ReservedLabel"),
    ],
)
def test_invalid_new_object_is_refused_with_the_reason(body: Any, code: str) -> None:
    assert code in codes(judge(review(body), context()))
    if code == "KindUnreadable":
        assert codes(mutate(review(body), context())) == [code]


def test_pod_templates_cannot_carry_an_admission() -> None:
    body = a_set(suspend=True)
    template = body["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]
    template["metadata"] = {"annotations": {ADMISSION: "{}"}}
    found = judge(review(body), context())
    assert codes(found) == ["ReservedAnnotation"]
    assert "spec.replicatedJobs[1].template.spec.template.metadata" in refusals(found)[0]


REFUSING = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
resource: jobsets
suspend: .spec.suspend
podSets: [{each: ".spec.replicatedJobs[*]", name: .name, template: .template.spec.template}]
skip: [{path: .spec.managedBy, present: true}]
refuse: [{path: .spec.ttl, present: true, because: "it has a ttl", remedy: "leave it out"}]
"""


def test_object_that_cannot_be_governed_is_refused_with_a_remedy() -> None:
    own = compile_kind(entry(REFUSING))
    body = a_set(suspend=True)
    body["spec"]["ttl"] = 5
    found = reviews.judge(KindReviews(own), review(body), context())
    assert codes(found) == ["KindRefused"]
    assert "it has a ttl; leave it out" in refusals(found)[0]
    body["spec"]["managedBy"] = "another"
    assert reviews.judge(KindReviews(own), review(body), context()) == YES
    assert reviews.mutate(KindReviews(own), review(body), context()) == YES


def test_each_pod_set_that_could_never_start_is_warned_of() -> None:
    body = a_set("vision", suspend=True, cpu="9", workers=1)
    found = judge(review(body), context())
    assert isinstance(found, Allow)
    assert len(found.warnings) == 1
    assert codes(judge(review(body), context(never_fits=NeverFits.DENY))) == ["NeverFits"]


@pytest.mark.parametrize(
    ("new", "code"),
    [
        (a_set(suspend=False), "OnlyReconcilerStarts"),
        (a_set(suspend=True, annotations={ADMISSION: ADMITTED}), "ReservedAnnotation"),
        (a_set(suspend=True, labels={UNIT: "u1"}), "ReservedLabel"),
        (a_set(None, suspend=True), "GroupRemoved"),
    ],
)
def test_only_the_reconciler_can_start_and_annotate_a_held_object(new: Any, code: str) -> None:
    old = a_set(suspend=True)
    assert codes(judge(review(new, old), context())) == [code]
    assert judge(review(new, old, user=RECONCILER), context()) == YES


def test_resized_held_object_gets_a_new_queue_time() -> None:
    old, new = a_set(suspend=True), a_set(suspend=True, workers=3)
    stored = applied(mutate(review(new, old), context()), new)
    assert "quotree.dev/requeue" in stored["metadata"]["annotations"]
    assert judge(review(stored, old), context()) == YES


@pytest.mark.parametrize(
    ("new", "code"),
    [
        (running(workers=3), "GrowthWhileRunning"),
        (running(workers=1), ""),
        (running(group="vision"), "FrozenWhileRunning"),
        (running(unit=""), "ReservedLabel"),
        (running(annotations={}), "ReservedAnnotation"),
    ],
)
def test_running_object_can_neither_grow_nor_create_uncounted_pods(new: Any, code: str) -> None:
    assert list(dict.fromkeys(codes(judge(review(new, running()), context())))) == ([code] if code else [])


def test_pod_set_cannot_grow_at_the_cost_of_another() -> None:
    """Each has flavors of its own."""
    new = running(workers=1)
    new["spec"]["replicatedJobs"][0]["replicas"] = 2
    assert codes(judge(review(new, running()), context())) == ["GrowthWhileRunning"]


def test_owner_can_suspend_a_running_object_and_it_stays_held() -> None:
    new = running(suspend=True)
    stored = applied(mutate(review(new, running()), context()), new)
    assert stored["metadata"]["labels"][HOLD_LABEL] == "true"
    assert judge(review(stored, running()), context()) == YES


def test_finished_or_deleted_object_is_unchanged() -> None:
    done = running(status={"conditions": [{"type": "Completed", "status": "True"}]})
    changed = running(workers=9, status=done["status"])
    assert judge(review(changed, done), context()) == YES
    assert mutate(review(deleting(running()), deleting(running())), context()) == YES


MADE = context(namespace={"quotree.dev/group": "nlp"}, cover=Cover("u1", "nlp"))


def test_governed_object_created_by_an_operator_is_not_held() -> None:
    """Even with the labels and annotations of what it is made for, which operators copy."""
    body = running(unit="u1")
    stored = applied(mutate(review(body), MADE), body)
    assert (stored["spec"]["suspend"], stored["metadata"]["labels"][UNIT]) == (False, "u1")
    assert judge(review(stored), MADE) == YES
    bigger = {**stored, "spec": running(workers=5)["spec"]}
    assert codes(judge(review(bigger, stored), context())) == ["GrowthWhileRunning"]
    assert judge(review(bigger, stored), context(by_operator=True)) == YES
    assert mutate(review(bigger, stored), context()) == YES


def test_object_created_by_an_operator_gets_the_label_of_its_object() -> None:
    body = a_set(None)
    stored = applied(children.mutate_child(review(body), MADE), body)
    assert stored == a_set(None, labels={UNIT: "u1"})
    assert children.judge_child(review(stored), MADE) == YES
    assert children.judge_child(review(a_set(None)), context()) == YES
    assert codes(children.judge_child(review(stored), context())) == ["ReservedLabel"]
    assert codes(children.judge_child(review(body, stored), context())) == ["ReservedLabel"]
    assert children.mutate_child(review(body), context()) == YES


def test_preset_has_the_operator_that_creates_its_children() -> None:
    assert read_preset("jobset").operators == ("system:serviceaccount:jobset-system:jobset-controller-manager",)


@pytest.mark.parametrize(
    ("managed", "replicas", "expected"),
    [("JobSet", 3, ["GrowthWhileRunning"]), ("JobSet", 2, []), ("JobSet", 1, []), (None, 3, [])],
    ids=["raised", "unchanged", "lowered", "not managed"],
)
def test_scale_subresource_raises_no_managed_object(managed: str | None, replicas: int, expected: list[str]) -> None:
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata()}
    before, after = ({**scale, "spec": {"replicas": each}} for each in (2, replicas))
    assert codes(scales.judge_scale(review(after, before), managed)) == expected


@pytest.mark.parametrize(
    ("forged", "code"),
    [
        ({"annotations": {ADMISSION: ADMITTED}}, "ReservedAnnotation"),
        ({"labels": {UNIT: "uid-other"}}, "ReservedLabel"),
        ({"unit": "uid-other"}, "ReservedLabel"),
    ],
    ids=["annotation", "its own label", "label of its templates"],
)
def test_object_that_joins_a_group_is_judged_as_at_its_creation(forged: Any, code: str) -> None:
    before, after = (a_set(group, suspend=True, **forged) for group in (None, "nlp"))
    assert set(codes(judge(review(after, before), context()))) == {code}
    harmless = (a_set(group, suspend=True) for group in ("nlp", None))
    assert judge(review(*harmless), context()) == YES
