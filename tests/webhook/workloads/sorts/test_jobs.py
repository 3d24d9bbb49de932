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
    judge_job,
    mutate_job,
    review,
)
from webhook.verdicts import YES
from webhook.workloads.review_context import ReviewContext

INJECTED = '{"nodeSelector":{"gpu":"a100"},"tolerations":[{"key":"gpu","operator":"Exists"}]}'
STEERED = {"nodeSelector": {"gpu": "a100"}, "tolerations": [{"operator": "Exists", "key": "gpu"}]}


def created(body: dict[str, Any], where: ReviewContext) -> dict[str, Any]:
    """The Job after the mutation of its creation, which the validation then accepts."""
    stored = applied(mutate_job(review(body), where), body)
    assert codes(judge_job(review(stored), where)) == []
    return stored


def test_new_job_is_suspended_labelled_and_placed_on_the_only_flavor_of_its_group() -> None:
    expected = job(annotations={"quotree.dev/injected": INJECTED}, pod=STEERED, **HELD)
    assert created(job(), context()) == expected


def test_namespace_label_makes_a_job_managed() -> None:
    where = context(namespace={"quotree.dev/group": "nlp"})
    assert created(job(None), where) == job("nlp", **HELD)


def test_job_without_a_group_gets_default_where_enabled() -> None:
    groups = (*GROUPS, group("default", quotas=[]))
    where = context(
        namespace={"quotree.dev/managed": "true"}, groups=groups, settings=QuotaSettings(default_group=True)
    )
    assert created(job(None, cpu=0), where) == job("default", cpu=0, **HELD)


def test_unmanaged_job_is_allowed_unchanged() -> None:
    assert mutate_job(review(job(None)), context()) == YES
    assert judge_job(review(job(None)), context()) == YES
    assert judge_job(review(job(None, **HELD), job(None, suspend=False)), context()) == YES


def test_mutation_is_idempotent() -> None:
    once = created(job(), context())
    assert mutate_job(review(once), context()) == YES


def test_job_that_accepts_one_flavor_is_placed_at_creation() -> None:
    stored = created(job("nlp", labels={"quotree.dev/flavor": "t4"}), context())
    assert stored["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "t4"}
    assert stored["metadata"]["annotations"] == {"quotree.dev/injected": '{"nodeSelector":{"gpu":"t4"}}'}


def test_job_of_a_group_with_several_flavors_is_not_placed_yet() -> None:
    assert created(job("nlp"), context()) == job("nlp", **HELD)


def test_placement_of_the_owner_is_not_recorded_as_injected() -> None:
    own = {"nodeSelector": {"gpu": "a100", "disk": "ssd"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    assert created(job(pod=own), context()) == job(pod=own, **HELD)


def test_job_created_with_a_finished_status_is_held() -> None:
    ended = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert created(job("nlp", status=ended), context()) == job("nlp", status=ended, **HELD)


def test_job_under_deletion_is_unchanged() -> None:
    before, after = deleting(job("nlp")), deleting(job("nlp", **HELD))
    assert mutate_job(review(after, before), context()) == YES


def test_job_created_suspended_is_held() -> None:
    assert created(job("nlp", **HELD), context()) == job("nlp", **HELD)


def test_writes_of_the_reconciler_are_allowed_unchanged() -> None:
    held, started = job("nlp", **HELD), job("nlp", annotations=admitted("a100"), suspend=False)
    assert mutate_job(review(started, held, RECONCILER), context()) == YES
    assert judge_job(review(started, held, RECONCILER), context()) == YES


def test_injected_placement_is_removed_once_kubernetes_allows_it() -> None:
    pod = {"nodeSelector": {"gpu": "a100"}, "tolerations": STEERED["tolerations"]}
    notes = {"quotree.dev/injected": INJECTED}
    stopping = job("nlp", pod=pod, annotations=notes, status={"startTime": "2026-03-01T12:00:00Z"}, **HELD)
    stopped = job("nlp", pod=pod, annotations=notes, **HELD)
    assert mutate_job(review(stopping, stopping), context()) == YES
    assert applied(mutate_job(review(stopped, stopped), context()), stopped) == {
        **job("nlp", **HELD),
        "metadata": {**job("nlp")["metadata"], "annotations": {}},
    }


def test_user_who_suspends_a_running_job_holds_it() -> None:
    running = job("nlp", annotations=admitted("t4"), status={"active": 1})
    asked = job("nlp", annotations=admitted("t4"), status={"active": 1}, **HELD)
    stopped = applied(mutate_job(review(asked, running), context()), asked)
    assert stopped == job(
        "nlp", labels={"quotree.dev/hold": "true"}, annotations=admitted("t4"), status={"active": 1}, **HELD
    )
    assert judge_job(review(stopped, running), context()) == YES


def test_lifted_hold_reactivates_a_deactivated_job() -> None:
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


def test_group_label_missing_in_a_replacement_is_restored() -> None:
    where = context(namespace={"quotree.dev/group": "nlp"})
    asked = job(None, **HELD)
    assert applied(mutate_job(review(asked, job("nlp", **HELD)), where), asked) == job("nlp", **HELD)


def test_job_moved_while_held_is_placed_again() -> None:
    before = created(job("vision"), context())
    asked = {**before, "metadata": {**before["metadata"], "labels": {"quotree.dev/group": "nlp"}}}
    after = applied(mutate_job(review(asked, before), context()), asked)
    again = {"quotree.dev/requeue": '{"released":"2026-03-01T12:00:00Z"}'}
    assert after == {**job("nlp", **HELD), "metadata": {**job("nlp")["metadata"], "annotations": again}}
    assert judge_job(review(after, before), context()) == YES


def test_held_job_follows_edits_of_its_flavor() -> None:
    stored = created(job(), context())
    moved = {**A100, "spec": {"nodeLabels": {"gpu": "a100-80"}}}
    after = applied(mutate_job(review(stored, stored), context(flavors=(moved, T4))), stored)
    assert after["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "a100-80"}
    assert "tolerations" not in after["spec"]["template"]["spec"]
