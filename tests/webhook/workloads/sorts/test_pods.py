"""Plain pods are gated when they come and released by the reconciler alone; pods of managed Jobs pass untouched."""

from typing import Any

import pytest

from shared.api.names import JOB_CONTROLLERS
from tests.webhook.workloads.review_builders import (
    RECONCILER,
    admitted,
    applied,
    codes,
    context,
    deleting,
    judge_pod,
    mutate_pod,
    plain_pod,
    refusals,
    review,
)
from webhook.verdicts import YES

GATE = {"name": "quotree.dev/admission"}
GATED: Any = {"schedulingGates": [GATE]}
ADMITTED = admitted("a100")
INJECTED = '{"nodeSelector":{"gpu":"a100"},"tolerations":[{"key":"gpu","operator":"Exists"}]}'
STEERED: Any = {"nodeSelector": {"gpu": "a100"}, "tolerations": [{"operator": "Exists", "key": "gpu"}]}
JOB = [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j1", "controller": True}]
JOBS_OWN = {"batch.kubernetes.io/controller-uid": "j1"}


def test_new_pod_is_gated_and_labelled_and_not_placed_yet() -> None:
    stored = applied(mutate_pod(review(plain_pod()), context()), plain_pod())
    assert stored == plain_pod(**GATED)
    assert judge_pod(review(stored), context()) == YES
    assert applied(mutate_pod(review(stored), context()), stored) == stored


def test_namespace_label_makes_a_pod_managed_and_keeps_other_gates() -> None:
    body = plain_pod(None, schedulingGates=[{"name": "other"}])
    stored = applied(mutate_pod(review(body), context(namespace={"quotree.dev/group": "nlp"})), body)
    assert stored == plain_pod("nlp", schedulingGates=[{"name": "other"}, GATE])


def test_unmanaged_pod_is_allowed_unchanged() -> None:
    assert mutate_pod(review(plain_pod(None)), context()) == YES
    assert judge_pod(review(plain_pod(None)), context()) == YES
    assert judge_pod(review(plain_pod(None), plain_pod(None)), context()) == YES


@pytest.mark.parametrize("user", JOB_CONTROLLERS)
def test_pod_of_the_job_controller_is_allowed_unchanged(user: str) -> None:
    body = plain_pod(owners=JOB, labels=JOBS_OWN)
    where = context(job_group=lambda uid: "vision" if uid == "j1" else None)
    assert mutate_pod(review(body, user=user), where) == YES
    assert judge_pod(review(body, user=user), where) == YES


@pytest.mark.parametrize("own", [None, "nlp"], ids=["no group of its own", "another group"])
def test_pod_of_a_managed_job_gets_the_group_of_its_job(own: str | None) -> None:
    body = plain_pod(own, owners=JOB, labels=JOBS_OWN)
    where = context(namespace={"quotree.dev/managed": "true"}, job_group=lambda _uid: "vision")
    stored = applied(mutate_pod(review(body, user=JOB_CONTROLLERS[0]), where), body)
    assert stored == plain_pod("vision", owners=JOB, labels=JOBS_OWN)
    assert judge_pod(review(stored, user=JOB_CONTROLLERS[0]), where) == YES


def test_pod_of_a_managed_job_has_no_other_label_of_quotree_from_its_template() -> None:
    words = ("preemptible", "flavor", "hold", "pod-group", "pod-group-size")
    labels = {"app": "train", **JOBS_OWN, **{f"quotree.dev/{word}": "x" for word in words}}
    body = plain_pod(owners=JOB, labels=labels)
    made, where = review(body, user=JOB_CONTROLLERS[0]), context(job_group=lambda _uid: "vision")
    assert applied(mutate_pod(made, where), body) == plain_pod(owners=JOB, labels={"app": "train", **JOBS_OWN})


@pytest.mark.parametrize(("group", "code"), [(None, "GroupRemoved"), ("nlp", "FrozenWhileRunning")])
def test_pod_of_a_managed_job_keeps_its_group(group: str | None, code: str) -> None:
    before, after = (plain_pod(name, owners=JOB, labels=JOBS_OWN) for name in ("vision", group))
    assert codes(judge_pod(review(after, before), context())) == [code]


def test_same_pod_from_another_user_is_gated() -> None:
    body = plain_pod(owners=JOB, labels=JOBS_OWN)
    where = context(job_group=lambda _uid: "vision")
    assert applied(mutate_pod(review(body), where), body)["spec"]["schedulingGates"] == [GATE]
    assert codes(judge_pod(review(body), where)) == ["OnlyReconcilerStarts"]


def test_pod_created_with_a_finished_status_is_gated() -> None:
    body = {**plain_pod(), "status": {"phase": "Succeeded"}}
    assert applied(mutate_pod(review(body), context()), body)["spec"]["schedulingGates"] == [GATE]


@pytest.mark.parametrize(
    ("owners", "labels", "managed"),
    [
        (JOB, JOBS_OWN, False),
        (JOB, {}, True),
        (JOB, {"batch.kubernetes.io/controller-uid": "j2"}, True),
        ([{**JOB[0], "controller": False}], JOBS_OWN, True),
        ([{**JOB[0], "apiVersion": "example.com/v1"}], JOBS_OWN, True),
        ([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "uid": "r", "controller": True}], {}, True),
    ],
    ids=[
        "unmanaged Job",
        "no uid label",
        "another uid",
        "not its controller",
        "another kind of Job",
        "ReplicaSet",
    ],
)
def test_pod_with_a_false_owner_reference_is_gated(owners: list[Any], labels: dict[str, str], managed: bool) -> None:
    body = plain_pod(owners=owners, labels=labels)
    where = context(job_group=lambda _uid: "vision" if managed else None)
    made = review(body, user=JOB_CONTROLLERS[0])
    assert applied(mutate_pod(made, where), body)["spec"]["schedulingGates"] == [GATE]


def test_only_mirror_pods_of_a_kubelet_are_allowed() -> None:
    body = plain_pod(annotations={"kubernetes.io/config.mirror": "x"})
    node: Any = {"userInfo": {"username": "system:node:n1", "groups": ["system:nodes"]}}
    assert mutate_pod(review(body, **node), context()) == YES
    assert applied(mutate_pod(review(body), context()), body)["spec"]["schedulingGates"] == [GATE]


def test_writes_of_the_reconciler_are_allowed_unchanged() -> None:
    gated, released = plain_pod("nlp", **GATED), plain_pod("nlp", annotations=ADMITTED)
    assert mutate_pod(review(released, gated, RECONCILER), context()) == YES
    assert judge_pod(review(released, gated, RECONCILER), context()) == YES


NEW: dict[str, tuple[dict[str, Any], list[str]]] = {
    "gate taken off by another webhook": (
        plain_pod(),
        [
            (
                "Pod 'train' spec.schedulingGates: only Quotree's reconciler starts managed workloads: "
                "leave the scheduling "
                "gate quotree.dev/admission in place; it starts when group vision has room (OnlyReconcilerStarts)"
            )
        ],
    ),
    "admission forged": (
        plain_pod(annotations=ADMITTED, **GATED),
        [
            (
                "Pod 'train' metadata.annotations[quotree.dev/admission]: annotation "
                "quotree.dev/admission is written by "
                "Quotree alone; leave it out (ReservedAnnotation)"
            )
        ],
    ),
    "group label without a group": (
        plain_pod(None, labels={"quotree.dev/group": ""}),
        [
            (
                "Pod 'train' metadata.labels[quotree.dev/group]: is empty; name a group, or leave the label out "
                "(GroupAbsent)"
            )
        ],
    ),
    "inner group": (
        plain_pod("research", **GATED),
        [
            (
                "Pod 'train' metadata.labels[quotree.dev/group]: group research holds groups, not workloads; "
                "name one of its "
                "leaves: nlp, vision (GroupNotLeaf)"
            )
        ],
    ),
    "pod group without a size": (
        plain_pod(labels={"quotree.dev/pod-group": "ring"}, **GATED),
        [
            (
                "Pod 'train' metadata.labels[quotree.dev/pod-group-size]: is absent; write how many pods "
                "start together, "
                "a whole number from 1 to 1024 (BadPodGroup)"
            )
        ],
    ),
    "pod group of an absurd size": (
        plain_pod(labels={"quotree.dev/pod-group": "ring", "quotree.dev/pod-group-size": "1025"}, **GATED),
        [
            (
                "Pod 'train' metadata.labels[quotree.dev/pod-group-size]: is \"1025\"; write how many pods start "
                "together, a whole number from 1 to 1024 (BadPodGroup)"
            )
        ],
    ),
}


@pytest.mark.parametrize(("body", "sentences"), NEW.values(), ids=NEW)
def test_invalid_new_pod_is_refused(body: dict[str, Any], sentences: list[str]) -> None:
    assert refusals(judge_pod(review(body), context())) == sentences


def ended(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "status": {"phase": "Succeeded"}}


RUNNING = plain_pod("nlp", annotations=ADMITTED)
IN_GROUP = plain_pod("nlp", annotations=ADMITTED, labels={"quotree.dev/pod-group": "x"})
EDITS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "gate removed by hand": (plain_pod("nlp"), plain_pod("nlp", **GATED), ["OnlyReconcilerStarts"]),
    "admission forged": (plain_pod("nlp", annotations=ADMITTED), plain_pod("nlp"), ["ReservedAnnotation"]),
    "group changed while it runs": (plain_pod("vision", annotations=ADMITTED), RUNNING, ["FrozenWhileRunning"]),
    "pod group changed while it runs": (
        plain_pod(
            "nlp", annotations=ADMITTED, labels={"quotree.dev/pod-group": "x", "quotree.dev/pod-group-size": "1"}
        ),
        RUNNING,
        ["FrozenWhileRunning"],
    ),
    "group left": (plain_pod(None, **GATED), plain_pod("nlp", **GATED), ["GroupRemoved"]),
    "pod of a Job that claims an admission": (
        plain_pod("nlp", annotations=ADMITTED, owners=JOB),
        plain_pod("nlp", owners=JOB),
        ["ReservedAnnotation"],
    ),
    "pod of a Job that leaves it": (plain_pod("nlp"), plain_pod("nlp", owners=JOB), ["JobChanged"]),
    "pod of a Job that its Job will not know": (
        plain_pod("nlp", owners=JOB),
        plain_pod("nlp", owners=JOB, labels=JOBS_OWN),
        ["JobChanged"],
    ),
    "running pod that a Job is to answer for": (plain_pod("nlp", owners=JOB), plain_pod("nlp"), ["JobChanged"]),
    "group left when it has ended": (ended(plain_pod(None)), ended(RUNNING), ["FrozenWhileRunning"]),
    "group changed when it has ended": (ended(plain_pod("vision")), ended(RUNNING), ["FrozenWhileRunning"]),
    "pod group joined when it has ended": (ended(IN_GROUP), ended(RUNNING), []),
    "pod group left when it has ended": (ended(RUNNING), ended(IN_GROUP), ["FrozenWhileRunning"]),
    "group left while it is being deleted": (
        deleting(plain_pod(None, annotations=ADMITTED)),
        deleting(RUNNING),
        ["GroupRemoved"],
    ),
}


@pytest.mark.parametrize(("after", "before", "broken"), EDITS.values(), ids=EDITS)
def test_forbidden_edit_by_a_user_is_refused(after: dict[str, Any], before: dict[str, Any], broken: list[str]) -> None:
    assert codes(judge_pod(review(after, before), context())) == broken


def test_ended_pod_that_has_its_group_from_its_namespace_stays_there() -> None:
    where = context(namespace={"quotree.dev/group": "nlp"})
    for group, broken in (("vision", ["FrozenWhileRunning"]), ("nlp", [])):
        after, before = ended(plain_pod(group, annotations=ADMITTED)), ended(plain_pod(None, annotations=ADMITTED))
        assert codes(judge_pod(review(after, before), where)) == broken


@pytest.mark.parametrize("owners", [None, JOB], ids=["plain", "of a Job"])
def test_running_pod_cannot_be_resized(owners: list[Any] | None) -> None:
    notes = None if owners else ADMITTED
    small, large = (plain_pod("nlp", annotations=notes, owners=owners, cpu=cpu) for cpu in (2, 3))
    assert refusals(judge_pod(review(large, small, subResource="resize"), context())) == [
        (
            "Pod 'train' spec.containers: raises its request while it runs (cpu from 2 to 3); start "
            "another pod beside it "
            "(GrowthWhileRunning)"
        )
    ]
    assert judge_pod(review(small, large, subResource="resize"), context()) == YES


HARMLESS = {
    "label of their own": (plain_pod("nlp", labels={"a": "b"}), plain_pod("nlp")),
    "in a closed group": (plain_pod("old", activeDeadlineSeconds=3), plain_pod("old")),
    "finalizer removed, request unreadable": (
        deleting(plain_pod("nlp", cpu="1e999")),
        deleting(plain_pod("nlp", cpu="1e999", finalizers=["example.com/stay"])),
    ),
    "owner removed while gated": (plain_pod("nlp", **GATED), plain_pod("nlp", owners=JOB, **GATED)),
    "moved while gated": (plain_pod("vision", **GATED), plain_pod("nlp", **GATED)),
    "pod of a Job": (plain_pod("nlp", labels={"a": "b"}, owners=JOB), plain_pod("nlp", owners=JOB)),
}


@pytest.mark.parametrize(("after", "before"), HARMLESS.values(), ids=HARMLESS)
def test_other_edits_are_accepted(after: dict[str, Any], before: dict[str, Any]) -> None:
    assert judge_pod(review(after, before), context()) == YES
