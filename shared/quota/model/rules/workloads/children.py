"""What an operator makes for a started object of a governed kind, and the label that says so.

The operator's own pods and Jobs are neither held nor counted: the object that they are made for is. Nobody else can
make a pod or Job pass for one of them.

See docs/specification.md §4.8.
"""

from collections.abc import Iterator

from shared.api.core.metadata import Metadata, OwnerReference
from shared.api.names import PREFIX, UNIT_LABEL
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import shortened
from shared.quota.model.rules.listing import SHOWN
from shared.quota.model.rules.workloads.changed_workload import WorkloadProgress


def check_unit(name: str, expected: str, present: str, where: str = "", reason: str = "") -> Iterator[Violation]:
    """Only Quotree says for which object something was made.

    `where`: above the labels, such as `spec.template.`. `reason`: why it was not made for what it names.
    """
    if present != expected:
        fix = "leave it as it is" if expected else "leave it out"
        message = reason or f"label {UNIT_LABEL} is written by Quotree alone; {fix}"
        yield Violation("ReservedLabel", name, f"{where}metadata.labels[{UNIT_LABEL}]", message)


def check_child_kept(name: str, before: Metadata, after: Metadata) -> Iterator[Violation]:
    """What an operator made keeps its owner and its labels; others can be added.

    Its operator finds it by them, and would make another in its place, beyond what the object was started with.
    """
    if before.controller is not None and before.controller != after.controller:
        message = f"{shortened(before.controller.kind)} {shortened(before.controller.name)} accounts for it; leave it"
        yield Violation("ChildChanged", name, "metadata.ownerReferences", message)
    changed = [each for each in sorted(before.labels) if before.labels[each] != after.labels.get(each)]
    for label in [each for each in changed if not each.startswith(PREFIX)][:SHOWN]:
        message = "its operator finds it by its labels; leave them as they are"
        yield Violation("ChildChanged", name, f"metadata.labels[{shortened(label)}]", message)


def check_child_edit(
    name: str, owner: OwnerReference | None, was: WorkloadProgress, now: WorkloadProgress
) -> Iterator[Violation]:
    """Only its operator starts or enlarges a Job that it made: the Job's size is that of the object it is made for."""
    whose = "another object" if owner is None else f"{shortened(owner.kind)} {shortened(owner.name)}"
    if was.held and not now.held:
        message = f"its operator starts it, as part of {whose}; leave spec.suspend as it is"
        yield Violation("OnlyReconcilerStarts", name, "spec.suspend", message)
    if any(amount > was.peak.get(resource, 0) for resource, amount in now.peak.items()):
        message = f"raises its request, and {whose} was started with the previous one; change {whose} while it waits"
        yield Violation("GrowthWhileRunning", name, "spec.parallelism", message)
    if was.annotations != now.annotations:
        message = "annotations under quotree.dev/ are written by Quotree alone; leave them as they are"
        yield Violation("ReservedAnnotation", name, "metadata.annotations", message)
