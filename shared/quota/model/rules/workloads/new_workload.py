"""What a Job or pod must obey when it names a group: one rule, one function, one code, as for the tree itself.

`check_new_workload` judges a workload when it is created, or moves to another group while it is held. A legal workload
might still never start; then it gets a warning that names the group, flavor and resource that bind.

See docs/specification.md §4.7.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from shared.api.core.selectors import LabelSelector
from shared.api.names import (
    FALSE,
    FLAVOR_LABEL,
    GROUP_LABEL,
    HOLD_GATE_PREFIX,
    HOLD_LABEL,
    JOB_CONTROLLER,
    MANAGED_LABEL,
    MAX_POD_GROUP,
    POD_GROUP_LABEL,
    POD_GROUP_SIZE_LABEL,
    PREEMPTIBLE_LABEL,
    TRUE,
    read_pod_group_size,
)
from shared.quota.model.membership import admits, has_own_label, is_bound_elsewhere, selector_of
from shared.quota.model.rules.findings import NO_FINDINGS, Findings, Violation
from shared.quota.model.rules.groups.names import shortened
from shared.quota.model.rules.listing import SHOWN, listed
from shared.quota.model.rules.workloads.fit import find_misfits
from shared.quota.model.rules.workloads.owner_settings import (
    check_own_startup,
    check_owner_settings,
    warn_run_time_longer,
)
from shared.quota.model.rules.workloads.restrictions import (
    check_devices,
    check_priority_class,
    check_requests_given,
    check_termination,
    check_use,
    check_workload_priority,
    warn_preempting_class,
)
from shared.quota.model.rules.workloads.submitted_workload import (
    NeverFits,
    SubmittedWorkload,
    WorkloadContext,
    WorkloadRule,
)
from shared.quota.model.settings import UnlabelledNamespaces
from shared.quota.model.tree import SYSTEM, StopPolicy


def check_group_exists(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """The group exists."""
    if workload.group not in context.tree:
        message = f"there is no group {shortened(workload.group)}; name one that exists, `quotree tree` lists them"
        yield workload.violation("GroupAbsent", workload.group_field, message)


def check_group_is_leaf(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """Only leaves take workloads; the message lists those below the group named."""
    group = context.tree.get(workload.group)
    if group is not None and group.is_parent:
        leaves = [each for each in context.tree.leaves_below(workload.group) if each != SYSTEM]
        fix = f"name one of its leaves: {listed(leaves)}" if leaves else "it has no leaves yet"
        message = f"group {workload.group} holds groups, not workloads; {fix}"
        yield workload.violation("GroupNotLeaf", workload.group_field, message)


def check_group_is_not_system(workload: SubmittedWorkload, _context: WorkloadContext) -> Iterator[Violation]:
    """No workload may name the group that is never limited."""
    if workload.group == SYSTEM:
        message = "group system is the cluster's own and never limited; name another group"
        yield workload.violation("SystemGroup", workload.group_field, message)


def check_group_is_open(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """No group on the path refuses new workloads, and the group is not being deleted; the message names which does."""
    group = context.tree.get(workload.group)
    if group is not None and group.deleting:
        message = f"group {workload.group} is being deleted: no new workloads; name another group"
        yield workload.violation("GroupClosed", workload.group_field, message)
        return
    for name in context.tree.path(workload.group):
        if context.tree[name].stop_policy is StopPolicy.CLOSE:
            where = (
                f"group {workload.group}"
                if name == workload.group
                else f"group {workload.group} is below {name}, which"
            )
            message = (
                f"{where} is closed (stopPolicy: Close): no new workloads until that is taken back; name another group"
            )
            yield workload.violation("GroupClosed", workload.group_field, message)
            return


def check_namespace(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """The group admits the workload's namespace, by its own namespaceSelector or the nearest ancestor's."""
    group, labels = context.tree.get(workload.group), workload.namespace_labels
    if group is None or labels is None:
        return
    if admits(context.tree.get, group.name, labels, open_groups=context.settings.open_groups):
        return
    found = selector_of(context.tree.get, group.name)
    if found is None:
        why = (
            "no namespaceSelector stands on its path, and quota.openGroups is false; give it one, or have the "
            f"namespace labelled {GROUP_LABEL}={group.name}"
        )
    else:
        whose = "its namespaceSelector" if found[1] == group.name else f"the namespaceSelector of {found[1]}"
        why = f"{whose} requires {_unmet(found[0], labels)}; label the namespace so, or name another group"
    message = f"group {workload.group} does not take workloads of namespace {workload.namespace}: {why}"
    yield workload.violation("NamespaceNotAdmitted", workload.group_field, message)


def check_namespace_is_labelled(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """The namespace has a label of Quotree's: otherwise nothing else in it is held (`quota.unlabelledNamespaces`)."""
    labels = workload.namespace_labels
    if context.settings.unlabelled_namespaces is UnlabelledNamespaces.ALLOW or labels is None or has_own_label(labels):
        return
    message = (
        f"namespace {workload.namespace} has none of Quotree's labels, so that nothing else in it would be held; have "
        f"it labelled {GROUP_LABEL}=GROUP or {MANAGED_LABEL}=true (quota.unlabelledNamespaces)"
    )
    yield workload.violation("NamespaceUnlabelled", workload.group_field, message)


def check_namespace_binds(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """A workload in a namespace with a group label uses that group or a leaf below it."""
    labels = workload.namespace_labels
    if labels is None or not context.settings.namespace_label_binds:
        return
    if is_bound_elsewhere(context.tree.get, workload.group, labels):
        bound = shortened(labels[GROUP_LABEL])
        message = f"namespace {workload.namespace} is bound to group {bound} by its own label; name {bound}"
        yield workload.violation("NamespaceBound", workload.group_field, f"{message} or a leaf below it")


def _unmet(selector: LabelSelector, labels: Mapping[str, str]) -> str:
    """Return the requirements that the namespace does not meet, each with its key and values."""
    exact = [f"{key}={value}" for key, value in sorted(selector.match_labels.items()) if labels.get(key) != value]
    others = [
        f"{each.key} {each.operator} {','.join(each.values)}".strip()
        for each in selector.match_expressions
        if not LabelSelector(match_expressions=(each,)).matches(labels)
    ]
    return " and ".join([*exact, *others][:SHOWN])


def check_flavor_known(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """The requested flavor is one of the group's."""
    wanted, group = workload.labels.get(FLAVOR_LABEL), context.tree.get(workload.group)
    if not wanted or group is None or group.is_parent or group.entry(wanted) is not None:
        return
    has = ", ".join(entry.flavor for entry in group.quotas[:SHOWN]) or "none"
    message = f"group {workload.group} has no quota of flavor {shortened(wanted)}; it has {has}"
    yield workload.violation("FlavorNotInGroup", f"metadata.labels[{FLAVOR_LABEL}]", message)


def check_booleans(workload: SubmittedWorkload, _context: WorkloadContext) -> Iterator[Violation]:
    """Labels that are true or false have one of these values."""
    gates = sorted(each for each in workload.labels if each.startswith(HOLD_GATE_PREFIX))
    for label in (PREEMPTIBLE_LABEL, HOLD_LABEL, *gates[:SHOWN]):
        value = workload.labels.get(label)
        if value not in (None, TRUE, FALSE):
            message = f'is "{shortened(value)}"; write "true" or "false"'
            yield workload.violation("BadLabel", f"metadata.labels[{label}]", message)


def check_pod_group(workload: SubmittedWorkload, _context: WorkloadContext) -> Iterator[Violation]:
    """A pod group has a name and a size, or neither."""
    named, size = workload.labels.get(POD_GROUP_LABEL), workload.labels.get(POD_GROUP_SIZE_LABEL)
    if named and (size is None or read_pod_group_size(size) is None):
        size_text = "is absent" if size is None else f'is "{shortened(size)}"'
        message = f"{size_text}; write how many pods start together, a whole number from 1 to {MAX_POD_GROUP}"
        yield workload.violation("BadPodGroup", f"metadata.labels[{POD_GROUP_SIZE_LABEL}]", message)
    if size is not None and not named:
        message = f"says a size without a name; add the label {POD_GROUP_LABEL} or take this one out"
        yield workload.violation("BadPodGroup", f"metadata.labels[{POD_GROUP_SIZE_LABEL}]", message)


def check_pods_are_counted(workload: SubmittedWorkload, _context: WorkloadContext) -> Iterator[Violation]:
    """A Job's pods are made by Kubernetes' own Job controller, by its own selector: no other pods are counted."""
    if workload.managed_by not in ("", JOB_CONTROLLER):
        whose = f"its pods are made by {shortened(workload.managed_by)}"
        message = f"{whose}, and only those that Kubernetes' own Job controller makes are counted; leave managedBy out"
        yield workload.violation("ForeignController", "spec.managedBy", message)
    if workload.manual_selector:
        message = "a selector of its own may match pods that are not counted; leave manualSelector and selector out"
        yield workload.violation("OwnSelector", "spec.manualSelector", message)


WORKLOAD_RULES: Final = (
    WorkloadRule(("GroupAbsent",), check_group_exists),
    WorkloadRule(("GroupNotLeaf",), check_group_is_leaf),
    WorkloadRule(("SystemGroup",), check_group_is_not_system),
    WorkloadRule(("GroupClosed",), check_group_is_open),
    WorkloadRule(("NamespaceNotAdmitted",), check_namespace),
    WorkloadRule(("NamespaceUnlabelled",), check_namespace_is_labelled),
    WorkloadRule(("NamespaceBound",), check_namespace_binds),
    WorkloadRule(("FlavorNotInGroup",), check_flavor_known),
    WorkloadRule(("BadLabel",), check_booleans),
    WorkloadRule(("BadPodGroup",), check_pod_group),
    WorkloadRule(("ForeignController", "OwnSelector"), check_pods_are_counted),
    WorkloadRule(("UseNotAllowed",), check_use),
    WorkloadRule(("PriorityNotAllowed",), check_priority_class),
    WorkloadRule(("WorkloadPriorityAbsent", "WorkloadPriorityNotAllowed"), check_workload_priority),
    WorkloadRule(("BadAnnotation",), check_owner_settings),
    WorkloadRule(("StartupAboveMaximum",), check_own_startup),
    WorkloadRule(("RequestAbsent",), check_requests_given),
    WorkloadRule(("DevicesUncountable",), check_devices),
)


def warn_group_stopped(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """The workload is accepted and waits, because a group on its path starts nothing."""
    for name in context.tree.path(workload.group):
        policy = context.tree[name].stop_policy
        if policy in (StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN):
            message = f"group {name} has stopPolicy {policy}: nothing starts until that is taken back"
            yield workload.violation("GroupStopped", workload.group_field, message)
            return


def warn_group_detached(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """The workload is accepted and waits, because its group does not reach root."""
    if workload.group in context.tree and not context.tree.reaches_root(workload.group):
        message = f"group {workload.group} is inactive: its path does not lead to root; nothing starts until it does"
        yield workload.violation("GroupInactive", workload.group_field, message)


def warn_requests_absent(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """A container that requests nothing of what its group has quota of uses a node and no quota."""
    group = context.tree.get(workload.group)
    covered = set() if group is None else {resource for entry in group.quotas for resource in entry.covered}
    counted = covered - context.settings.ignored_resources
    lacking = {resource for pod in workload.terms for _, resource in pod.unrequested if resource in counted}
    if lacking:
        what = " and ".join(sorted(lacking))
        why = f"it uses that and no quota; group {workload.group} could require it (requireRequests)"
        message = f"a container requests no {what}: {why}"
        yield workload.violation("RequestsNotRequired", workload.pod_field("containers"), message)


WARNINGS: Final = (
    WorkloadRule(("GroupStopped",), warn_group_stopped),
    WorkloadRule(("GroupInactive",), warn_group_detached),
    WorkloadRule(("RequestsNotRequired",), warn_requests_absent),
    WorkloadRule(("RunTimeLonger",), warn_run_time_longer),
    WorkloadRule(("PreemptsPods",), warn_preempting_class),
)


def check_new_workload(workload: SubmittedWorkload, context: WorkloadContext) -> Findings:
    """Everything that is wrong with this workload in its group, and what it should be warned of."""
    violations = tuple(found for rule in WORKLOAD_RULES for found in rule.check(workload, context))
    ending = check_termination(workload, context)
    if violations:
        return Findings(violations + ending.violations)
    warnings = tuple(found for rule in WARNINGS for found in rule.check(workload, context))
    return Findings(warnings=warnings) + ending + check_could_fit(workload, context)


def check_could_fit(workload: SubmittedWorkload, context: WorkloadContext) -> Findings:
    """Whether it could ever start: warnings, or violations where the settings refuse such workloads."""
    found = tuple(find_misfits(workload, context))
    if not found:
        return NO_FINDINGS
    return Findings(found) if context.never_fits is NeverFits.DENY else Findings(warnings=found)
