"""What reviews of all workloads have in common: Quotree's annotations, the group label, the owner's hold."""

from collections.abc import Mapping
from typing import Final

from shared.api.annotations import InjectedAnnotation
from shared.api.core.metadata import Metadata
from shared.api.core.pod import PodSpec
from shared.api.json.patches import Operation, drop_members, set_members
from shared.api.names import (
    FLAVOR_LABEL,
    GROUP_LABEL,
    HOLD_LABEL,
    INJECTED,
    MANAGED_LABEL,
    POD_GROUP_LABEL,
    POD_GROUP_SIZE_LABEL,
    PREEMPTIBLE_LABEL,
    PRIORITY_LABEL,
    REQUEUE,
    TRUE,
    UNIT_LABEL,
    USER,
    is_person,
)
from shared.quota.model.rules.findings import NO_FINDINGS, Findings, Violation
from shared.quota.model.rules.workloads.children import check_child_kept, check_unit
from shared.quota.model.rules.workloads.object_size import check_size, object_size
from shared.quota.model.rules.workloads.submitted_workload import GROUP_FIELD
from shared.quota.model.tree import QueueOrder
from shared.resources import QuantityError
from webhook.verdicts import YES, Allow, Deny, Verdict
from webhook.workloads.review_context import Cover, ReviewContext
from webhook.workloads.workload_review import SideT, WorkloadReview
from webhook.workloads.workload_side import annotation_of, as_judged, name_of, own_annotations


def check_sizes(edit: WorkloadReview[SideT]) -> Findings:
    """Deny parts of the object that are too large; for an existing object, only those that the edit makes too large."""
    if edit.group is None:
        return NO_FINDINGS
    review, new, old = edit.review, edit.new, edit.old
    old_specs = {} if old is None else {each.name: each.spec for each in old.pod_sets}
    found: dict[Violation, None] = {}
    for name, spec in ({each.name: each.spec for each in new.pod_sets} or {"": PodSpec()}).items():
        after = object_size(len(bytes(review.object)), new.metadata, spec)
        old_spec, total = old_specs.get(name, PodSpec()), len(bytes(review.old_object))
        before = None if old is None else object_size(total, old.metadata, old_spec)
        found.update(dict.fromkeys(check_size(new.name, before, after)))
    return Findings(tuple(found))


def check_unmanaged(kind: str, metadata: Metadata, context: ReviewContext) -> Findings:
    """Deny a new workload that should have a group and has none: its label is empty, or its namespace is managed.

    The admission policy holds everything that has the label, so with an empty one it would wait indefinitely; in a
    managed namespace it would run without quota.
    """
    if metadata.labels.get(GROUP_LABEL) == "":
        message = "is empty; name a group, or leave the label out"
    elif context.namespace.namespace_labels.get(MANAGED_LABEL) == TRUE:
        message = (
            "is absent, the namespace is managed, and there is no default group (quota.defaultGroup); "
            "name a group here or on the namespace"
        )
    else:
        return NO_FINDINGS
    return Findings((Violation("GroupAbsent", name_of(kind, metadata), GROUP_FIELD, message),))


def judge_unreadable(edit: WorkloadReview[SideT], error: QuantityError) -> Verdict:
    """Return the verdict on a workload whose request cannot be read; edits of one under deletion are still allowed."""
    if edit.old is not None and edit.old.metadata.is_deleting:
        return YES
    return Deny((Violation("BadQuantity", edit.new.name, "spec", str(error)),))


def user_annotation(edit: WorkloadReview[SideT], group: str) -> dict[str, str]:
    """Return the annotation with the user of the request, for a workload that is created in or moved to a leaf by user.

    It says for whom the workload counts there, and is never written again. What Kubernetes' own accounts create counts
    for its namespace.
    """
    leaf, user = edit.context.quota.tree.get(group), edit.context.quota.user
    if leaf is None or leaf.order is not QueueOrder.USER or not is_person(user):
        return {}
    old = edit.old
    if old is not None and (not edit.moves or USER in as_judged(old.metadata, old.group).annotations):
        return {}
    return {USER: user}


def _own_name(edit: WorkloadReview[SideT]) -> dict[str, str]:
    """Return the annotation that `user_annotation` gives, if it is there: another replica's tree might lag."""
    user = edit.context.quota.user
    return {USER: user} if edit.moves and is_person(user) and edit.new.annotations.get(USER) == user else {}


def expected_annotations(edit: WorkloadReview[SideT], injected: InjectedAnnotation | None) -> dict[str, str]:
    """Quotree's annotations after an owner's edit: the previous ones with what the mutation adds.

    `injected` None: nothing can be injected now. Otherwise it might have been or not yet, because another replica's
    view might lag.
    """
    expected, placed = _own_name(edit), {} if injected is None else annotation_of(injected)[0]
    if edit.queue_edit is not None:
        expected |= own_annotations(edit.queue_edit.old.annotations)
        requeue = edit.queue_edit.expected_text(edit.context.now)
        if requeue is not None:
            expected[REQUEUE] = requeue
    if injected is not None and edit.new.annotations.get(INJECTED) == placed.get(INJECTED):
        expected.pop(INJECTED, None)
        expected |= placed
    return expected


def metadata_operations(
    metadata: Metadata, labels: Mapping[str, str], annotations: Mapping[str, str], drop: tuple[str, ...] = ()
) -> list[Operation]:
    """Return the patch that sets these labels and annotations and removes the annotations in `drop`."""
    present = metadata.annotations or None
    return [
        *set_members(("metadata", "labels"), metadata.labels or None, labels),
        *set_members(("metadata", "annotations"), present, annotations),
        *drop_members(("metadata", "annotations"), present, drop),
    ]


def group_label(group: str) -> dict[str, str]:
    """Return the label with the group whose quota the workload uses."""
    return {GROUP_LABEL: group}


def allow_child(metadata: Metadata, cover: Cover, *, with_group: bool) -> Verdict:
    """Allow an object that an operator creates for a started object, labelled with that object.

    `with_group`: it is a pod, which would count by its labels if it were orphaned.
    """
    labels = {UNIT_LABEL: cover.unit} | (group_label(cover.group) if with_group and cover.group else {})
    operations = metadata_operations(metadata, labels, {})
    if with_group:
        operations += drop_own_words(metadata)
    return Allow(tuple(operations), audit={"unit": cover.unit}) if operations else YES


def check_label(kind: str, metadata: Metadata, old: Metadata | None, context: ReviewContext) -> Findings:
    """Deny a user's own change of the label that says which governed object it belongs to.

    Of what an operator made, deny a change of its owner and its other labels as well.
    """
    made_for = "" if context.cover is None else context.cover.unit
    expected, name = made_for if old is None else old.unit, name_of(kind, metadata)
    forged = tuple(check_unit(name, expected, metadata.unit, reason=context.not_covered))
    if old is None or not old.unit or context.by_operator:
        return Findings(forged)
    return Findings((*forged, *check_child_kept(name, old, metadata)))


OWN_WORDS: Final = (PREEMPTIBLE_LABEL, PRIORITY_LABEL, FLAVOR_LABEL, HOLD_LABEL, POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL)
"""What labels say of a workload, apart from its group."""


def drop_own_words(metadata: Metadata) -> list[Operation]:
    """Remove the labels of a pod that another object accounts for, which would count if the pod were orphaned.

    Otherwise a preemptible workload could leave pods that are not, or that join a pod group.
    """
    return drop_members(("metadata", "labels"), metadata.labels, OWN_WORDS)
