"""Jobs are held and steered when they come, started by the reconciler alone, and left alone otherwise."""

from typing import Any

import pytest

from shared.api.annotations import AdmissionAnnotation, RequeueAnnotation, write_annotation
from shared.quota.model.settings import QuotaSettings
from tests.webhook.workloads.review_builders import (
    A100,
    GROUPS,
    HELD,
    NOON,
    RECONCILER,
    T4,
    admitted,
    applied,
    codes,
    context,
    deleting,
    group,
    job,
    refusals,
    review,
)
from webhook.verdicts import YES, Deny
from webhook.workloads.jobs import judge_job, mutate_job
from webhook.workloads.review_context import ReviewContext

INJECTED = '{"nodeSelector":{"gpu":"a100"},"tolerations":[{"key":"gpu","operator":"Exists"}]}'
STEERED = {"nodeSelector": {"gpu": "a100"}, "tolerations": [{"operator": "Exists", "key": "gpu"}]}


def created(body: dict[str, Any], where: ReviewContext) -> dict[str, Any]:
    """The Job after the mutation of its creation, which the validation then accepts."""
    stored = applied(mutate_job(review(body), where), body)
    assert codes(judge_job(review(stored), where)) == []
    return stored


def test_new_job_is_suspended_labelled_and_sent_to_its_groups_only_flavor() -> None:
    expected = job(annotations={"quotree.dev/injected": INJECTED}, pod=STEERED, **HELD)
    assert created(job(), context()) == expected


def test_namespace_brings_a_job_in() -> None:
    where = context(namespace={"quotree.dev/group": "nlp"})
    assert created(job(None), where) == job("nlp", **HELD)


def test_default_group_takes_work_that_names_none_where_that_is_switched_on() -> None:
    groups = (*GROUPS, group("default", quotas=[]))
    where = context(
        namespace={"quotree.dev/managed": "true"}, groups=groups, settings=QuotaSettings(default_group=True)
    )
    assert created(job(None, cpu=0), where) == job("default", cpu=0, **HELD)


def test_unmanaged_job_is_none_of_our_business() -> None:
    assert mutate_job(review(job(None)), context()) == YES
    assert judge_job(review(job(None)), context()) == YES
    assert judge_job(review(job(None, **HELD), job(None, suspend=False)), context()) == YES


def test_mutation_is_idempotent() -> None:
    once = created(job(), context())
    assert mutate_job(review(once), context()) == YES


def test_job_asking_for_one_flavor_gets_it_at_once() -> None:
    stored = created(job("nlp", labels={"quotree.dev/flavor": "t4"}), context())
    assert stored["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "t4"}
    assert stored["metadata"]["annotations"] == {"quotree.dev/injected": '{"nodeSelector":{"gpu":"t4"}}'}


def test_job_of_a_group_with_several_flavors_is_not_steered_yet() -> None:
    assert created(job("nlp"), context()) == job("nlp", **HELD)


def test_what_the_owner_wrote_is_not_recorded_as_injected() -> None:
    own = {"nodeSelector": {"gpu": "a100", "disk": "ssd"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    assert created(job(pod=own), context()) == job(pod=own, **HELD)


def test_job_that_says_at_creation_that_it_is_finished_is_held_all_the_same() -> None:
    ended = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert created(job("nlp", status=ended), context()) == job("nlp", status=ended, **HELD)


def test_job_that_is_being_deleted_is_left_as_it_is() -> None:
    before, after = deleting(job("nlp")), deleting(job("nlp", **HELD))
    assert mutate_job(review(after, before), context()) == YES


def test_job_created_suspended_is_held_all_the_same() -> None:
    assert created(job("nlp", **HELD), context()) == job("nlp", **HELD)


STARTED: dict[str, tuple[dict[str, Any], str, dict[str, Any], str | None]] = {
    "into a labelled flavor": ({}, "t4", {"nodeSelector": {"gpu": "t4"}}, '{"nodeSelector":{"gpu":"t4"}}'),
    "into a tainted flavor": ({}, "a100", STEERED, INJECTED),
    "owner's own words stay": (
        {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "x", "value": "y"}]},
        "a100",
        {
            "nodeSelector": {"disk": "ssd", "gpu": "a100"},
            "tolerations": [{"key": "x", "value": "y"}, {"operator": "Exists", "key": "gpu"}],
        },
        INJECTED,
    ),
    "into the empty flavor": ({}, "default", {}, None),
}


@pytest.mark.parametrize(("pod", "flavor", "steered", "note"), STARTED.values(), ids=STARTED)
def test_start_puts_in_what_the_flavor_needs(
    pod: dict[str, Any], flavor: str, steered: dict[str, Any], note: str | None
) -> None:
    held = job("nlp", pod=pod, **HELD)
    asked = job("nlp", pod=pod, annotations=admitted(flavor), suspend=False)
    started = applied(mutate_job(review(asked, held, RECONCILER), context()), asked)
    notes = {**admitted(flavor), **({} if note is None else {"quotree.dev/injected": note})}
    assert started == job("nlp", pod={**pod, **steered}, annotations=notes, suspend=False)
    assert judge_job(review(started, held, RECONCILER), context()) == YES
    assert mutate_job(review(started, held, RECONCILER), context()) == YES


def test_start_takes_out_what_an_earlier_flavor_needed() -> None:
    before = {"quotree.dev/injected": INJECTED}
    kept = {"tolerations": [{"key": "mine", "operator": "Exists"}]}
    pod = {"nodeSelector": {"gpu": "a100"}, "tolerations": [*kept["tolerations"], *STEERED["tolerations"]]}
    held = job("nlp", pod=pod, annotations=before, **HELD)
    asked = job("nlp", pod=pod, annotations={**before, **admitted("t4")}, suspend=False)
    started = applied(mutate_job(review(asked, held, RECONCILER), context()), asked)
    notes = {"quotree.dev/injected": '{"nodeSelector":{"gpu":"t4"}}', **admitted("t4")}
    assert started == job("nlp", pod={**kept, "nodeSelector": {"gpu": "t4"}}, annotations=notes, suspend=False)


def test_start_against_the_owners_label_is_refused() -> None:
    pod = {"nodeSelector": {"gpu": "t4"}}
    asked = job("nlp", pod=pod, annotations=admitted("a100"), suspend=False)
    verdict = mutate_job(review(asked, job("nlp", pod=pod, **HELD), RECONCILER), context())
    assert refusals(verdict) == [
        "Job 'train' spec: flavor a100 needs nodes with gpu=a100, the pod template asks for gpu=t4 (FlavorConflict)"
    ]
    assert isinstance(verdict, Deny)
    assert (verdict.code, verdict.reason) == (422, "Invalid")


def test_start_into_flavors_that_contradict_each_other_is_refused() -> None:
    notes = {
        "quotree.dev/admission": write_annotation(
            AdmissionAnnotation(flavors={"cpu": "a100", "gpu": "t4", "x": "gone"}, time=NOON)
        )
    }
    asked = job("nlp", annotations=notes, suspend=False)
    assert refusals(mutate_job(review(asked, job("nlp", **HELD), RECONCILER), context())) == [
        "Job 'train' spec: there is no flavor gone (FlavorConflict)",
        "Job 'train' spec: flavor t4 needs nodes with gpu=t4, flavor a100 asks for gpu=a100 (FlavorConflict)",
    ]


def test_start_without_a_readable_admission_is_refused() -> None:
    asked = job("nlp", annotations={"quotree.dev/admission": "["}, suspend=False)
    assert codes(mutate_job(review(asked, job("nlp", **HELD), RECONCILER), context())) == ["BadAdmission"]


def test_what_was_injected_is_taken_out_once_kubernetes_allows_it() -> None:
    pod = {"nodeSelector": {"gpu": "a100"}, "tolerations": STEERED["tolerations"]}
    notes = {"quotree.dev/injected": INJECTED}
    stopping = job("nlp", pod=pod, annotations=notes, status={"startTime": "2026-03-01T12:00:00Z"}, **HELD)
    stopped = job("nlp", pod=pod, annotations=notes, **HELD)
    assert mutate_job(review(stopping, stopping, RECONCILER), context()) == YES
    assert applied(mutate_job(review(stopped, stopped, RECONCILER), context()), stopped) == {
        **job("nlp", **HELD),
        "metadata": {**job("nlp")["metadata"], "annotations": {}},
    }


def test_eviction_by_the_reconciler_touches_nothing_else() -> None:
    running = job("nlp", annotations=admitted("t4"), suspend=False, status={"startTime": "2026-03-01T12:00:00Z"})
    evicted = job("nlp", suspend=True, status={"startTime": "2026-03-01T12:00:00Z"})
    assert mutate_job(review(evicted, running, RECONCILER), context()) == YES
    assert judge_job(review(evicted, running, RECONCILER), context()) == YES


def test_person_who_suspends_a_running_job_holds_it() -> None:
    running = job("nlp", annotations=admitted("t4"), status={"active": 1})
    asked = job("nlp", annotations=admitted("t4"), status={"active": 1}, **HELD)
    stopped = applied(mutate_job(review(asked, running), context()), asked)
    assert stopped == job(
        "nlp", labels={"quotree.dev/hold": "true"}, annotations=admitted("t4"), status={"active": 1}, **HELD
    )
    assert judge_job(review(stopped, running), context()) == YES


def test_lifting_the_hold_of_deactivated_work_lets_it_try_again() -> None:
    note = write_annotation(RequeueAnnotation(NOON, NOON, 5, deactivated=True))
    before = job("nlp", labels={"quotree.dev/hold": "true"}, annotations={"quotree.dev/requeue": note}, **HELD)
    asked = job("nlp", annotations={"quotree.dev/requeue": note}, **HELD)
    after = applied(mutate_job(review(asked, before), context()), asked)
    assert after["metadata"]["annotations"] == {
        "quotree.dev/requeue": '{"queued":"2026-03-01T12:00:00Z","released":"2026-03-01T12:00:00Z"}'
    }
    assert judge_job(review(after, before), context()) == YES
    forged = job("nlp", annotations={"quotree.dev/requeue": '{"failedStarts":0}'}, **HELD)
    assert codes(judge_job(review(forged, before), context())) == ["ReservedAnnotation"]


def test_group_label_that_a_replacement_forgot_is_put_back() -> None:
    where = context(namespace={"quotree.dev/group": "nlp"})
    asked = job(None, **HELD)
    assert applied(mutate_job(review(asked, job("nlp", **HELD)), where), asked) == job("nlp", **HELD)


def test_job_moved_while_held_is_steered_anew() -> None:
    before = created(job("vision"), context())
    asked = {**before, "metadata": {**before["metadata"], "labels": {"quotree.dev/group": "nlp"}}}
    after = applied(mutate_job(review(asked, before), context()), asked)
    again = {"quotree.dev/requeue": '{"released":"2026-03-01T12:00:00Z"}'}
    assert after == {**job("nlp", **HELD), "metadata": {**job("nlp")["metadata"], "annotations": again}}
    assert judge_job(review(after, before), context()) == YES


def test_flavor_edited_since_is_followed_while_the_job_is_held() -> None:
    stored = created(job(), context())
    moved = {**A100, "spec": {"nodeLabels": {"gpu": "a100-80"}}}
    after = applied(mutate_job(review(stored, stored), context(flavors=(moved, T4))), stored)
    assert after["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "a100-80"}
    assert "tolerations" not in after["spec"]["template"]["spec"]
