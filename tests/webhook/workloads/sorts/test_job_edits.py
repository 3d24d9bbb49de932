"""What must not be done to Jobs: whole sentences for what is refused, silence for what touches none of it."""

from typing import Any

import pytest

from shared.api.names import REPLACEMENT
from tests.webhook.workloads.review_builders import HELD, admitted, context, deleting, job, judge_job, refusals, review
from webhook.verdicts import YES


def replaced_by(started: dict[str, Any], policy: str) -> dict[str, Any]:
    """The Job as Quotree has started it, with this podReplacementPolicy."""
    annotations = {**started["metadata"]["annotations"], REPLACEMENT: "TerminatingOrFailed"}
    spec = {**started["spec"], "podReplacementPolicy": policy}
    return {**started, "metadata": {**started["metadata"], "annotations": annotations}, "spec": spec}


RUNNING = job("nlp", annotations=admitted("t4"), status={"startTime": "2026-03-01T12:00:00Z", "active": 1})
FINISHED = {"conditions": [{"type": "Complete", "status": "True"}]}
EDITS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "resumed by hand": (
        job("nlp", suspend=False),
        job("nlp", **HELD),
        [
            (
                "Job 'train' spec.suspend: only Quotree's reconciler starts managed workloads: leave "
                "spec.suspend as it is, and "
                "out of the manifest; it starts when group nlp has room (OnlyReconcilerStarts)"
            )
        ],
    ),
    "admission forged": (
        job("nlp", annotations=admitted("t4"), **HELD),
        job("nlp", **HELD),
        [
            (
                "Job 'train' metadata.annotations[quotree.dev/admission]: annotation "
                "quotree.dev/admission is written by "
                "Quotree alone; leave it out (ReservedAnnotation)"
            )
        ],
    ),
    "admission taken away": (
        job("nlp", status={"active": 1}),
        RUNNING,
        [
            (
                "Job 'train' metadata.annotations[quotree.dev/admission]: annotation "
                "quotree.dev/admission is written by "
                "Quotree alone; leave it as it is (ReservedAnnotation)"
            )
        ],
    ),
    "group left": (
        job(None, **HELD),
        job("nlp", **HELD),
        [
            (
                "Job 'train' metadata.labels[quotree.dev/group]: a workload of group nlp must not leave its "
                "quota; name another "
                "group instead (GroupRemoved)"
            )
        ],
    ),
    "group changed while it runs": (
        {**RUNNING, "metadata": {**RUNNING["metadata"], "labels": {"quotree.dev/group": "vision"}}},
        RUNNING,
        [
            (
                "Job 'train' metadata.labels[quotree.dev/group]: is nlp and cannot become vision while the "
                "workload runs; "
                "suspend it first (FrozenWhileRunning)"
            )
        ],
    ),
    "running job joins": (
        job("nlp", status={"active": 1}),
        job(None, status={"active": 1}),
        [
            (
                "Job 'train' metadata.labels[quotree.dev/group]: a running workload cannot join group "
                "nlp; suspend it "
                "and wait for its pods to end (FrozenWhileRunning)"
            )
        ],
    ),
    "preemptible changed while its pods end": (
        job("nlp", labels={"quotree.dev/preemptible": "false"}, status={"active": 1}, **HELD),
        job("nlp", status={"active": 1}, **HELD),
        [
            (
                "Job 'train' metadata.labels[quotree.dev/preemptible]: cannot change while the workload runs; "
                "suspend it first "
                "(FrozenWhileRunning)"
            )
        ],
    ),
    "grown while it runs": (
        {**RUNNING, "spec": {**RUNNING["spec"], "parallelism": 3, "completions": 2}},
        RUNNING,
        [
            (
                "Job 'train' spec.parallelism: raises its request while it runs (cpu from 2 to 4); "
                "suspend it first, or "
                "start another Job beside it (GrowthWhileRunning)"
            )
        ],
    ),
    "pods replaced before they have ended": (
        replaced_by(RUNNING, "TerminatingOrFailed"),
        replaced_by(RUNNING, "Failed"),
        [
            (
                "Job 'train' spec.podReplacementPolicy: is Quotree's while the Job runs, whose pods are replaced "
                "when they have ended; suspend it first (GrowthWhileRunning)"
            )
        ],
    ),
    "template that gets a note": (
        job("nlp", template_notes=admitted("t4"), **HELD),
        job("nlp", **HELD),
        [
            (
                "Job 'train' spec.template.metadata.annotations[quotree.dev/admission]: annotation "
                "quotree.dev/admission is written by Quotree alone; leave it out (ReservedAnnotation)"
            )
        ],
    ),
    "resumed while it is being deleted": (
        deleting(job("nlp")),
        deleting(job("nlp", **HELD)),
        [
            (
                "Job 'train' spec.suspend: only Quotree's reconciler starts managed workloads: leave "
                "spec.suspend as it is, "
                "and out of the manifest; it starts when group nlp has room (OnlyReconcilerStarts)"
            )
        ],
    ),
    "moved to an inner group while held": (
        job("research", **HELD),
        job("nlp", **HELD),
        [
            (
                "Job 'train' metadata.labels[quotree.dev/group]: group research holds groups, not workloads; "
                "name one of its "
                "leaves: nlp, vision (GroupNotLeaf)"
            )
        ],
    ),
    "moved when it has finished": (
        job("vision", status=FINISHED),
        job("nlp", status=FINISHED),
        [
            (
                "Job 'train' metadata.labels[quotree.dev/group]: has ended, and what it used is charged by this label; "
                "leave it as it is (FrozenWhileRunning)"
            )
        ],
    ),
    "flavor unheard of": (
        job("nlp", labels={"quotree.dev/flavor": "h100"}, **HELD),
        job("nlp", **HELD),
        [
            (
                "Job 'train' metadata.labels[quotree.dev/flavor]: group nlp has no quota of flavor h100; "
                "it has a100, t4 "
                "(FlavorNotInGroup)"
            )
        ],
    ),
}


@pytest.mark.parametrize(("after", "before", "sentences"), EDITS.values(), ids=EDITS)
def test_forbidden_edit_by_a_user_is_refused(
    after: dict[str, Any], before: dict[str, Any], sentences: list[str]
) -> None:
    assert refusals(judge_job(review(after, before), context())) == sentences


HARMLESS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a label of their own": (job("old", labels={"a": "b"}, **HELD), job("old", **HELD)),
    "a note that its template has had": (
        job("nlp", template_notes=admitted("t4"), backoffLimit=3, **HELD),
        job("nlp", template_notes=admitted("t4"), **HELD),
    ),
    "while it is being deleted": (deleting(job("nlp", cpu="1e999", **HELD)), deleting(job("nlp", cpu="1e999", **HELD))),
    "in a closed group": (job("old", backoffLimit=3, **HELD), job("old", **HELD)),
    "in a group that is gone": (job("gone", ttlSecondsAfterFinished=3, **HELD), job("gone", **HELD)),
    "less parallelism while it runs": (
        {**RUNNING, "spec": {**RUNNING["spec"], "parallelism": 0}},
        RUNNING,
    ),
    "more parallelism than completions": ({**RUNNING, "spec": {**RUNNING["spec"], "parallelism": 9}}, RUNNING),
    "less parallelism while its pods are replaced when they have ended": (
        replaced_by({**RUNNING, "spec": {**RUNNING["spec"], "parallelism": 0}}, "Failed"),
        replaced_by(RUNNING, "Failed"),
    ),
    "more parallelism while held": (job("nlp", parallelism=2, completions=2, **HELD), job("nlp", **HELD)),
    "hold": (job("nlp", labels={"quotree.dev/hold": "true"}, **HELD), job("nlp", **HELD)),
    "preemptible while held": (
        job("nlp", labels={"quotree.dev/preemptible": "false"}, **HELD),
        job("nlp", labels={"quotree.dev/preemptible": "true"}, **HELD),
    ),
    "finished": (
        job("gone", suspend=False, status=RUNNING["status"]),
        job("gone", status=FINISHED, **HELD),
    ),
}


@pytest.mark.parametrize(("after", "before"), HARMLESS.values(), ids=HARMLESS)
def test_other_edits_are_accepted(after: dict[str, Any], before: dict[str, Any]) -> None:
    assert judge_job(review(after, before), context()) == YES
