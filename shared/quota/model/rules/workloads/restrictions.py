"""What administrators may restrict beside quota: use of a group, PriorityClasses, absent requests, long termination.

Devices that nobody can count are refused as well.

See docs/specification.md §4.7 and §15.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from shared.api.core.pod_request import COUNTED_BY_EVERY_POD
from shared.api.names import PRIORITY_LABEL
from shared.quota.model.rules.findings import Findings, Violation
from shared.quota.model.rules.groups.names import shortened
from shared.quota.model.rules.listing import SHOWN, listed
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload, WorkloadContext
from shared.quota.model.settings import LongTermination

_SECOND: Final = timedelta(seconds=1)


def check_use(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """Its owner, or the service account of its pods, has the verb `use` on the group (`quota.requireUse`)."""
    if context.lacks_use and workload.group in context.tree:
        message = (
            f"{context.lacks_use} may use group {workload.group}: one of them needs the verb use on that QuotaGroup "
            "(quota.requireUse); have it granted, or name another group"
        )
        yield workload.violation("UseNotAllowed", workload.group_field, message)


def check_priority_class(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """A workload that names a PriorityClass names one that its group may use (`quota.priorities`)."""
    settings, path = context.settings, context.tree.path(workload.group)
    bound = next((name for name in path if name in settings.priorities), None)
    if bound is None:
        return
    allowed = settings.priorities[bound]
    for named in sorted({pod.priority_class for pod in workload.terms} - {"", *allowed}):
        has = f"may name {', '.join(allowed)}" if allowed else "name none"
        message = f"is {shortened(named)}; workloads of group {bound} {has} (quota.priorities)"
        yield workload.violation("PriorityNotAllowed", workload.pod_field("priorityClassName"), message)
    if workload.object.startswith("Job/") and any(pod.priority is not None for pod in workload.terms):
        message = f"states a number; workloads of group {bound} name a PriorityClass, or none (quota.priorities)"
        yield workload.violation("PriorityNotAllowed", workload.pod_field("priority"), message)


def warn_preempting_class(workload: SubmittedWorkload, _context: WorkloadContext) -> Iterator[Violation]:
    """For some PriorityClasses kube-scheduler preempts pods of any group where no node has room; no quota bounds it."""
    for named in sorted({pod.priority_class for pod in workload.terms if pod.preempts}):
        message = (
            f"is {shortened(named)}: kube-scheduler preempts pods of other groups for it where no node has room; "
            "name a class with preemptionPolicy Never, or a priority for the queue alone (quotree.dev/priority)"
        )
        yield workload.violation("PreemptsPods", workload.pod_field("priorityClassName"), message)


def check_workload_priority(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """The priority that its label names is in the settings, and one that its group may use."""
    name, path = workload.labels.get(PRIORITY_LABEL), context.tree.path(workload.group)
    if name is None:
        return
    known = context.settings.workload_priorities
    allowed = [each for each, own in known.items() if own.groups is None or not set(path).isdisjoint(own.groups)]
    if name in allowed:
        return
    has = f"workloads of group {workload.group} may name {listed(allowed)}" if allowed else "they may name none"
    code, why = (
        ("WorkloadPriorityAbsent", "there is no such one; ")
        if name not in known
        else (
            "WorkloadPriorityNotAllowed",
            "",
        )
    )
    message = f'is "{shortened(name)}"; {why}{has} (quota.workloadPriorities), or leave the label out'
    yield workload.violation(code, f"metadata.labels[{PRIORITY_LABEL}]", message)


def check_requests_given(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """Every container requests cpu and memory if its group or one above it has `requireRequests` and quota of them."""
    path = [context.tree[name] for name in context.tree.path(workload.group)]
    demanding = next((group for group in path if group.require_requests), None)
    if demanding is None:
        return
    covered = {resource for entry in path[0].quotas for resource in entry.covered}
    counted = [each for each in COUNTED_BY_EVERY_POD if each in covered - context.settings.ignored_resources]
    for where, resource in sorted({each for pod in workload.terms for each in pod.unrequested})[:SHOWN]:
        if resource in counted:
            message = f"requests no {resource}; group {demanding.name} has requireRequests, so that all use is counted"
            yield workload.violation("RequestAbsent", workload.pod_field(where), message)


def check_devices(workload: SubmittedWorkload, _context: WorkloadContext) -> Iterator[Violation]:
    """Devices that pods request by ResourceClaims can be counted before they start (`quota.resources.devices`)."""
    for message in sorted({each for pod in workload.terms for each in pod.uncountable})[:SHOWN]:
        yield workload.violation("DevicesUncountable", workload.pod_field("resourceClaims"), message)


def check_termination(workload: SubmittedWorkload, context: WorkloadContext) -> Findings:
    """Pods may take `reclaim.maxTerminationGracePeriod` to end; refused where `reclaim.longTermination` is Deny."""
    reclaim = context.settings.reclaim
    most = reclaim.max_termination_grace_period
    seconds = max((pod.termination for pod in workload.terms), default=0)
    if most is None or seconds <= most / _SECOND:
        return Findings()
    message = (
        f"is {seconds}; until pods end nobody else has what they use, so that at most {most / _SECOND:g} is wanted "
        "(quota.reclaim.maxTerminationGracePeriod); lower it"
    )
    where = workload.pod_field("terminationGracePeriodSeconds")
    found = (workload.violation("LongTermination", where, message),)
    return Findings(found) if reclaim.long_termination is LongTermination.DENY else Findings(warnings=found)
