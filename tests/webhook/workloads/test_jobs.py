"""Jobs are held and steered when they come, started by the reconciler alone, and left alone otherwise."""

from typing import Any

from shared.api.annotations import RequeueAnnotation, write_annotation
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
    review,
)
from webhook.verdicts import YES
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


def test_what_the_reconciler_writes_is_neither_changed_nor_judged() -> None:
    held, started = job("nlp", **HELD), job("nlp", annotations=admitted("a100"), suspend=False)
    assert mutate_job(review(started, held, RECONCILER), context()) == YES
    assert judge_job(review(started, held, RECONCILER), context()) == YES


def test_what_was_injected_is_taken_out_once_kubernetes_allows_it() -> None:
    pod = {"nodeSelector": {"gpu": "a100"}, "tolerations": STEERED["tolerations"]}
    notes = {"quotree.dev/injected": INJECTED}
    stopping = job("nlp", pod=pod, annotations=notes, status={"startTime": "2026-03-01T12:00:00Z"}, **HELD)
    stopped = job("nlp", pod=pod, annotations=notes, **HELD)
    assert mutate_job(review(stopping, stopping), context()) == YES
    assert applied(mutate_job(review(stopped, stopped), context()), stopped) == {
        **job("nlp", **HELD),
        "metadata": {**job("nlp")["metadata"], "annotations": {}},
    }


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
