"""Which edits of existing workloads are refused: only the reconciler starts them and writes Quotree's annotations.

An edit that touches none of this is accepted, also in a closed group.

See docs/specification.md §4.8.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from shared.api.names import (
    FLAVOR_LABEL,
    GROUP_LABEL,
    HOLD_GATE_PREFIX,
    HOLD_LABEL,
    JOB_OWNER_LABEL,
    OWNER_ANNOTATIONS,
    POD_GROUP_LABEL,
    POD_GROUP_SIZE_LABEL,
    POD_SET_LABEL,
    PREEMPTIBLE_LABEL,
    PRIORITY_LABEL,
    hold_gates,
)
from shared.quota.model.rules.findings import Findings, Violation
from shared.quota.model.rules.groups.names import shortened
from shared.quota.model.rules.listing import SHOWN
from shared.quota.model.rules.workloads.new_workload import (
    check_booleans,
    check_could_fit,
    check_flavor_known,
    check_new_workload,
    check_pod_group,
)
from shared.quota.model.rules.workloads.owner_settings import check_own_startup, check_owner_settings
from shared.quota.model.rules.workloads.restrictions import (
    check_priority_class,
    check_requests_given,
    check_workload_priority,
)
from shared.quota.model.rules.workloads.submitted_workload import GROUP_FIELD, SubmittedWorkload, WorkloadContext
from shared.quota.model.tree import Amounts
from shared.resources import write_quantity


@dataclass(frozen=True, slots=True)
class WorkloadProgress:
    """State of a workload. `held`: suspended or gated; `has_pods`: some may still run; `annotations`: Quotree's own;
    `peak`: its request with as many pods as it may run at a time, whatever has succeeded; `job`: what makes a pod the
    Job's own, empty for other workloads."""

    held: bool
    has_pods: bool = False
    job: tuple[str, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    peak: Amounts = field(default_factory=dict)
    replaces: str = ""
    """The podReplacementPolicy of a Job that Quotree has started with one of its own."""

    @property
    def runs(self) -> bool:
        """Whether it uses quota, or will in a moment."""
        return not self.held or self.has_pods


@dataclass(frozen=True, slots=True)
class WorkloadEdit:
    """An edit of an existing workload by any user but the reconciler. A `SubmittedWorkload` of None: not managed.

    `expected_annotations` is what Quotree's annotations must be afterwards: as they were, but for what Quotree's own
    mutation adds to the edit.
    """

    before: SubmittedWorkload | None
    after: SubmittedWorkload | None
    was: WorkloadProgress
    now: WorkloadProgress
    expected_annotations: Mapping[str, str]
    follows_queue: bool = False
    """Whether it joins the group that its label of another system means, from which it is taken over."""


def check_edit(edit: WorkloadEdit, context: WorkloadContext) -> Findings:
    """Everything that is wrong with the edit. Labels are judged only where it changes them."""
    if edit.after is None:
        return Findings(tuple(check_group_kept(edit)))
    found = Findings(
        (
            *check_not_started(edit.after, edit.was, edit.now),
            *check_annotations_untouched(edit.after, edit.expected_annotations, edit.now.annotations),
            *check_frozen(edit),
            *check_job_kept(edit),
            *check_growth(edit),
            *check_gates_kept(edit, context),
        )
    )
    return found + _label_findings(edit.before, edit.after, context)


def _label_findings(before: SubmittedWorkload | None, after: SubmittedWorkload, context: WorkloadContext) -> Findings:
    if before is None or before.group != after.group:
        return check_new_workload(after, context)
    gates = {each for each in (*before.labels, *after.labels) if each.startswith(HOLD_GATE_PREFIX)}
    changed = {label for label in (*_LABELS, *gates) if before.labels.get(label) != after.labels.get(label)}
    found: list[Violation] = []
    if FLAVOR_LABEL in changed:
        found.extend(check_flavor_known(after, context))
    if PRIORITY_LABEL in changed:
        found.extend(check_workload_priority(after, context))
    if changed:
        checked = (*check_booleans(after, context), *check_pod_group(after, context))
        found.extend(each for each in checked if any(label in each.field for label in changed))
    if any(before.annotations.get(name) != after.annotations.get(name) for name in OWNER_ANNOTATIONS):
        found.extend((*check_owner_settings(after, context), *check_own_startup(after, context)))
    if before.terms != after.terms:
        found.extend((*check_priority_class(after, context), *check_requests_given(after, context)))
    if found or (not changed and before.request == after.request):
        return Findings(tuple(found))
    return check_could_fit(after, context)


_LABELS: Final = (PREEMPTIBLE_LABEL, PRIORITY_LABEL, HOLD_LABEL, FLAVOR_LABEL, POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL)


def check_group_kept(edit: WorkloadEdit) -> Iterator[Violation]:
    """A managed workload does not leave its quota."""
    if edit.before is not None:
        message = f"a workload of group {edit.before.group} must not leave its quota; name another group instead"
        yield edit.before.violation("GroupRemoved", GROUP_FIELD, message)


def check_not_started(
    workload: SubmittedWorkload, was: WorkloadProgress | None, now: WorkloadProgress
) -> Iterator[Violation]:
    """Only the reconciler starts managed workloads; `was` None: it is being created."""
    if now.held or (was is not None and not was.held):
        return
    if workload.suspend or workload.object.startswith("Job/"):
        where = workload.suspend or "spec.suspend"
        fix = f"leave {where} as it is, and out of the manifest"
    else:
        fix = "leave the scheduling gate quotree.dev/admission in place"
        where = "spec.schedulingGates"
    message = (
        f"only Quotree's reconciler starts managed workloads: {fix}; it starts when group {workload.group} has room"
    )
    yield workload.violation("OnlyReconcilerStarts", where, message)


def check_annotations_untouched(
    workload: SubmittedWorkload, expected: Mapping[str, str], present: Mapping[str, str]
) -> Iterator[Violation]:
    """Annotations under quotree.dev/ are Quotree's own. A violation for each that is not as expected."""
    wrong = sorted(name for name in {*expected, *present} if expected.get(name) != present.get(name))
    for name in wrong[:SHOWN]:
        fix = "leave it as it is" if name in expected else "leave it out"
        message = f"annotation {shortened(name)} is written by Quotree alone; {fix}"
        yield workload.violation("ReservedAnnotation", f"metadata.annotations[{shortened(name)}]", message)


def check_frozen(edit: WorkloadEdit) -> Iterator[Violation]:
    """Group, preemptible, pod group and pod set stay while the workload runs."""
    before, after = edit.before, edit.after
    if after is None or not edit.was.runs:
        return
    if before is None:
        if edit.follows_queue:
            return
        message = f"a running workload cannot join group {after.group}; suspend it and wait for its pods to end"
        yield after.violation("FrozenWhileRunning", after.group_field, message)
        return
    if before.group != after.group:
        message = f"is {before.group} and cannot become {after.group} while the workload runs; suspend it first"
        yield after.violation("FrozenWhileRunning", after.group_field, message)
    for label in (PREEMPTIBLE_LABEL, POD_GROUP_LABEL, POD_SET_LABEL):
        if before.labels.get(label) != after.labels.get(label):
            message = "cannot change while the workload runs; suspend it first"
            yield after.violation("FrozenWhileRunning", f"metadata.labels[{label}]", message)


def check_kept_when_ended(
    name: str, before: Mapping[str, str], after: Mapping[str, str], group: tuple[str | None, str | None]
) -> Iterator[Violation]:
    """A workload that has ended stays in its group and pod group: what it used is charged there.

    `before`, `after`: its labels. `group`: before and after, by its labels and its namespace's.
    """
    was, will_be = group
    moves = {
        GROUP_LABEL: was is not None and was != will_be,
        POD_GROUP_LABEL: POD_GROUP_LABEL in before and before[POD_GROUP_LABEL] != after.get(POD_GROUP_LABEL),
    }
    for label in (label for label, moved in moves.items() if moved):
        message = "has ended, and what it used is charged by this label; leave it as it is"
        yield Violation("FrozenWhileRunning", name, f"metadata.labels[{label}]", message)


def check_gates_kept(edit: WorkloadEdit, context: WorkloadContext) -> Iterator[Violation]:
    """A hold gate that the settings list is taken off only by the users named there (`quota.gates`)."""
    if edit.before is None or edit.after is None:
        return
    for gate in sorted({*hold_gates(edit.before.labels)} - {*hold_gates(edit.after.labels)}):
        users = context.settings.gates.get(gate.removeprefix(HOLD_GATE_PREFIX))
        if users is not None and context.user not in users:
            message = f"only {', '.join(users)} may take it off (quota.gates); leave it, or ask there"
            yield edit.after.violation("GateRemoved", f"metadata.labels[{gate}]", message)


def check_job_kept(edit: WorkloadEdit) -> Iterator[Violation]:
    """A running pod keeps its Job, which would otherwise create another in its place; a pod without a Job gets none."""
    submitted = edit.after or edit.before
    if submitted is None or not edit.was.runs or edit.was.job == edit.now.job:
        return
    why = "its Job accounts for it" if edit.was.job else "no Job accounts for it"
    message = f"{why}; leave its owner and its label {JOB_OWNER_LABEL} as they are"
    yield submitted.violation("JobChanged", "metadata", message)


def check_growth(edit: WorkloadEdit) -> Iterator[Violation]:
    """A running workload requests no more than it was started with: growth is a quota request."""
    if edit.after is None or not edit.was.runs or edit.now.held:
        return
    if edit.was.replaces and edit.now.replaces != edit.was.replaces:
        message = "is Quotree's while the Job runs, whose pods are replaced when they have ended; suspend it first"
        yield edit.after.violation("GrowthWhileRunning", "spec.podReplacementPolicy", message)
    grown = [name for name in sorted(edit.now.peak) if edit.now.peak[name] > edit.was.peak.get(name, 0)]
    if grown:
        numbers = ", ".join(_growth(name, edit) for name in grown[:SHOWN])
        is_job = edit.after.object.startswith("Job/")
        where = "spec.parallelism" if is_job else "spec.containers"
        fix = "suspend it first, or start another Job beside it" if is_job else "start another pod beside it"
        if edit.after.suspend:
            where, fix = "spec", "suspend it first, or start another beside it"
        message = f"raises its request while it runs ({numbers}); {fix}"
        yield edit.after.violation("GrowthWhileRunning", where, message)


def _growth(name: str, edit: WorkloadEdit) -> str:
    was, now = edit.was.peak.get(name, 0), edit.now.peak[name]
    return f"{name} from {write_quantity(name, was)} to {write_quantity(name, now)}"


FORBIDDEN: Final = frozenset(
    {
        "OnlyReconcilerStarts",
        "ReservedAnnotation",
        "ReservedLabel",
        "FrozenWhileRunning",
        "GrowthWhileRunning",
        "JobChanged",
        "ChildChanged",
        "GateRemoved",
        "GroupRemoved",
        "GroupClosed",
        "SystemGroup",
        "NamespaceNotAdmitted",
        "NamespaceBound",
        "NamespaceUnlabelled",
        "PriorityNotAllowed",
        "WorkloadPriorityNotAllowed",
        "UseNotAllowed",
        "TakesFromSiblings",
        "OutsideDivision",
    }
)
"""Codes that mean "not allowed" rather than "not valid": HTTP 403 rather than 422."""
EDIT_RULES: Final[Mapping[str, object]] = {
    "GroupRemoved": check_group_kept,
    "OnlyReconcilerStarts": check_not_started,
    "ReservedAnnotation": check_annotations_untouched,
    "FrozenWhileRunning": check_frozen,
    "GrowthWhileRunning": check_growth,
    "JobChanged": check_job_kept,
    "GateRemoved": check_gates_kept,
}
