"""What a new Job must not say: everything that is wrong at once, in bounded sentences, or a warning."""

from shared.quota.model.rules.workloads.submitted_workload import NeverFits
from tests.webhook.workloads.review_builders import (
    HELD,
    applied,
    codes,
    context,
    job,
    judge_job,
    mutate_job,
    refusals,
    review,
)
from webhook.verdicts import YES, Allow, Deny


def test_all_errors_are_reported_and_forbidden_decides_the_code() -> None:
    bad = job(
        "attic",
        labels={"quotree.dev/preemptible": "maybe", "quotree.dev/hold": "1"},
        annotations={"quotree.dev/eviction": "{}"},
        suspend=False,
    )
    verdict = judge_job(review(bad), context())
    assert codes(verdict) == [
        "OnlyReconcilerStarts",
        "ReservedAnnotation",
        "GroupNotLeaf",
        "GroupClosed",
        "BadLabel",
        "BadLabel",
    ]
    assert isinstance(verdict, Deny)
    assert (verdict.code, verdict.reason) == (403, "Forbidden")


def test_template_cannot_carry_quotree_annotations() -> None:
    forged = job("nlp", **HELD)
    forged["spec"]["template"]["metadata"] = {"annotations": {"quotree.dev/admission": "{}"}}
    assert refusals(judge_job(review(forged), context())) == [
        (
            "Job 'train' spec.template.metadata.annotations[quotree.dev/admission]: annotation "
            "quotree.dev/admission is "
            "written by Quotree alone; leave it out (ReservedAnnotation)"
        )
    ]


def test_forged_injection_at_creation_is_kept_for_validation_to_refuse() -> None:
    forged = job(
        "nlp", annotations={"quotree.dev/injected": '{"nodeSelector":{"x":"y"}}'}, pod={"nodeSelector": {"x": "y"}}
    )
    stored = applied(mutate_job(review(forged), context()), forged)
    assert stored == {**forged, "spec": {**forged["spec"], "suspend": True}}
    assert codes(judge_job(review(stored), context())) == ["ReservedAnnotation"]


def test_job_that_never_fits_is_warned_of_or_refused() -> None:
    large = job("nlp", cpu=200, **HELD)
    sentence = (
        "Job 'train' spec: will never start: flavor a100: it requests 200 cpu, group nlp may use at most 8; request "
        "less or raise that; flavor t4: it requests 200 cpu, group research may use at most 0; request less or raise "
        "that (NeverFits)"
    )
    assert judge_job(review(large), context()) == Allow(warnings=(sentence,))
    assert refusals(judge_job(review(large), context(never_fits=NeverFits.DENY))) == [sentence]


def test_job_with_500_resources_gets_a_bounded_message() -> None:
    many = {f"example.com/device-{number:03}": "1" for number in range(500)}
    body = job("nlp", **HELD)
    body["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = many
    verdict = judge_job(review(body), context(never_fits=NeverFits.DENY))
    assert isinstance(verdict, Deny)
    assert codes(verdict) == ["ResourceNotCovered", "ObjectTooLarge"]
    assert verdict.message.startswith("Job 'train' spec: requests example.com/device-000, example.com/device-001, ")
    assert len(verdict.message) < 700


def test_label_without_its_group_is_refused_in_both_webhooks() -> None:
    expected = [
        "Job 'train' metadata.labels[quotree.dev/group]: is empty; name a group, or leave the label out (GroupAbsent)"
    ]
    empty = job(None, labels={"quotree.dev/group": ""}, **HELD)
    assert refusals(mutate_job(review(empty), context())) == expected
    assert refusals(judge_job(review(empty), context())) == expected
    assert judge_job(review(job(None), empty), context()) == YES


def test_overlong_names_are_shortened() -> None:
    body = job("x" * 100_000, labels={"quotree.dev/hold": "y" * 100_000}, **HELD)
    verdict = judge_job(review(body), context())
    assert codes(verdict) == ["GroupAbsent", "BadLabel", "ObjectTooLarge"]
    assert isinstance(verdict, Deny)
    assert len(verdict.message) < 600


def test_job_without_a_group_in_a_managed_namespace_is_refused_with_the_reason() -> None:
    managed = context(namespace={"quotree.dev/managed": "true"})
    expected = [
        (
            "Job 'train' metadata.labels[quotree.dev/group]: is absent, the namespace is managed, and there is no "
            "default group (quota.defaultGroup); name a group here or on the namespace (GroupAbsent)"
        )
    ]
    assert refusals(mutate_job(review(job(None)), managed)) == expected
    assert refusals(judge_job(review(job(None)), managed)) == expected
    assert refusals(judge_job(review(job("vision", **HELD)), managed)) == []
