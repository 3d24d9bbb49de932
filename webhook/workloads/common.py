"""What Jobs and pods have in common at the door: their own notes, their group label, their owner's hold."""

from collections.abc import Mapping

import msgspec

from shared.api.annotations import (
    BadAnnotation,
    InjectedAnnotation,
    RequeueAnnotation,
    read_injected,
    read_requeue,
    write_annotation,
)
from shared.api.core.metadata import Metadata
from shared.api.core.pod import PodSpec
from shared.api.names import GROUP_LABEL, HOLD_LABEL, INJECTED, REQUEUE, TRUE, is_own
from shared.api.patches import Operation, drop_members, set_members
from shared.quota.model.job_reading import pod_request_of, times
from shared.quota.model.rules.findings import NO_FINDINGS, Findings, Violation
from shared.quota.model.rules.workloads.submitted_workload import GROUP_FIELD, SubmittedWorkload
from shared.quota.model.tree import Amounts
from shared.resources import QuantityError
from webhook.verdicts import YES, Deny, Verdict
from webhook.workloads.placement_injection import (
    NOTHING,
    conflicts,
    injection,
    known_flavors,
    only_flavors,
    own_placement,
)
from webhook.workloads.review_context import ReviewContext


def name_of(kind: str, metadata: Metadata) -> str:
    """How a violation calls the object; one without a name yet by what its name will begin with."""
    return f"{kind}/{metadata.name or metadata.generate_name}"


def own_notes(annotations: Mapping[str, str]) -> dict[str, str]:
    """Quotree's own annotations."""
    return {name: text for name, text in annotations.items() if is_own(name)}


def injected_note(annotations: dict[str, str]) -> InjectedAnnotation:
    """What the object says was injected; nothing when it says nothing readable."""
    try:
        return read_injected(annotations) or NOTHING
    except BadAnnotation:
        return NOTHING


def request_of(spec: PodSpec, pods: int, scene: ReviewContext) -> Amounts:
    """The request of that many pods. Raises QuantityError."""
    return times(pod_request_of(spec, scene.around, scene.context.settings), pods)


def post(  # noqa: PLR0913
    scene: ReviewContext, kind: str, metadata: Metadata, group: str, spec: PodSpec, *, pods: int
) -> SubmittedWorkload:
    """The work as its owner wrote it, without what was injected. Raises QuantityError."""
    return SubmittedWorkload(
        object=name_of(kind, metadata),
        group=group,
        namespace=metadata.namespace or "default",
        labels=metadata.labels,
        namespace_labels=scene.around.namespace_labels,
        request=request_of(spec, pods, scene),
        placement=own_placement(spec, injected_note(metadata.annotations)),
    )


def unmanaged(kind: str, metadata: Metadata) -> Findings:
    """What is wrong with new work that resolves to no group: nothing, but for a label that names none.

    The policy holds whatever has the label, so such work would wait indefinitely.
    """
    if metadata.labels.get(GROUP_LABEL) != "":
        return NO_FINDINGS
    message = "is empty; name a group, or leave the label out"
    return Findings((Violation("GroupAbsent", name_of(kind, metadata), GROUP_FIELD, message),))


def unreadable(kind: str, metadata: Metadata, before: Metadata | None, error: QuantityError) -> Verdict:
    """The verdict on work whose request cannot be read: nobody is kept from ending what is being deleted."""
    if before is not None and before.is_deleting:
        return YES
    return Deny((Violation("BadQuantity", name_of(kind, metadata), "spec", str(error)),))


def pending_injection(metadata: Metadata, spec: PodSpec, group: str, scene: ReviewContext) -> InjectedAnnotation:
    """What held work gets at once: its only flavors' labels and tolerations, unless they contradict the owner's."""
    found = scene.context.tree.get(group)
    if found is None or found.is_parent:
        return NOTHING
    try:
        request = request_of(spec, 1, scene)
    except QuantityError:
        return NOTHING
    flavors, _ = known_flavors(only_flavors(found, request, metadata.labels), scene.context.flavors)
    placement = own_placement(spec, injected_note(metadata.annotations))
    return NOTHING if conflicts(placement, flavors) else injection(placement, flavors)


def admitted_injection(
    work: str, spec: PodSpec, metadata: Metadata, flavors: Mapping[str, str], scene: ReviewContext
) -> InjectedAnnotation | tuple[Violation, ...]:
    """What work gets that starts in these flavors, or why it cannot start there."""
    placement = own_placement(spec, injected_note(metadata.annotations))
    found, absent = known_flavors(flavors.values(), scene.context.flavors)
    problems = [f"there is no flavor {name}" for name in absent] + conflicts(placement, found)
    if problems:
        return tuple(Violation("FlavorConflict", work, "spec", problem) for problem in problems)
    return injection(placement, found)


def lifted_requeue(old: Metadata, new: Metadata) -> RequeueAnnotation | None:
    """The requeue note of deactivated work whose hold a person lifts: it may try again, counted from nought."""
    if old.labels.get(HOLD_LABEL) != TRUE or new.labels.get(HOLD_LABEL) == TRUE:
        return None
    try:
        note = read_requeue(old.annotations)
    except BadAnnotation:
        return None
    if note is None or not note.deactivated:
        return None
    return msgspec.structs.replace(note, deactivated=False, failed_starts=0, not_before=None)


def expected_notes(old: Metadata, new: Metadata, injected: InjectedAnnotation | None) -> dict[str, str]:
    """What Quotree's annotations are after an owner's edit: as before, with what our own mutation adds to it.

    `injected` None: nothing may be injected now. Else it may have been, or not yet: another replica's view may lag.
    """
    expected = own_notes(old.annotations)
    lifted = lifted_requeue(old, new)
    if lifted is not None:
        expected[REQUEUE] = write_annotation(lifted)
    if injected is not None and new.annotations.get(INJECTED) == note_of(injected)[0].get(INJECTED):
        expected.pop(INJECTED, None)
        expected |= note_of(injected)[0]
    return expected


def metadata_operations(
    metadata: Metadata, labels: Mapping[str, str], notes: Mapping[str, str], drop: tuple[str, ...] = ()
) -> list[Operation]:
    """Set these labels and annotations, and drop those annotations."""
    present = metadata.annotations or None
    return [
        *set_members(("metadata", "labels"), metadata.labels or None, labels),
        *set_members(("metadata", "annotations"), present, notes),
        *drop_members(("metadata", "annotations"), present, drop),
    ]


def group_label(group: str) -> dict[str, str]:
    """The label that says whose quota the work uses."""
    return {GROUP_LABEL: group}


def note_of(injected: InjectedAnnotation) -> tuple[dict[str, str], tuple[str, ...]]:
    """The annotations to set and to drop, so that the object says what was injected."""
    return ({}, (INJECTED,)) if injected == NOTHING else ({INJECTED: write_annotation(injected)}, ())
