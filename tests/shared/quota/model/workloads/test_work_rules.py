"""The rules about new workloads, each just below and just above the limit, with the whole message."""

from collections.abc import Mapping
from typing import Any

import pytest

from shared.quota.model.rules.findings import Findings
from shared.quota.model.rules.workloads.fit import bounds_of
from shared.quota.model.rules.workloads.new_workload import check_new_workload
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload, WorkloadContext
from shared.quota.model.settings import (
    GroupMaxima,
    LongTermination,
    QuotaSettings,
    ReclaimSettings,
    StartupMaxima,
    UnlabelledNamespaces,
    WorkloadPriority,
)
from shared.quota.model.tree import Tree
from shared.resources import FlavorResource
from tests.shared.quota.model.workloads.work_context import (
    FLAVORS,
    GPU,
    GROUP_LABEL,
    MINUTE,
    PRIORITIES,
    TREE,
    check,
    group,
    pods,
)


def test_legal_workload_is_accepted_without_a_warning() -> None:
    assert check("vision", request={GPU: 16}, managed_by="kubernetes.io/job-controller") == Findings()


PRIORITY = "quotree.dev/priority"
NAMED = QuotaSettings(
    workload_priorities={
        "low": WorkloadPriority(-1),
        "urgent": WorkloadPriority(9, ("lab", "strict")),
        "secret": WorkloadPriority(99, ()),
    }
)


def test_group_below_one_that_may_use_a_priority_may_use_it() -> None:
    assert check("vision", NAMED, labels={PRIORITY: "urgent"}, request={GPU: 1}) == Findings()


STARTUP = "quotree.dev/startup"
BOUNDED = QuotaSettings(maxima=GroupMaxima(startup=StartupMaxima(timeout=10 * MINUTE, recovery_timeout=MINUTE)))


def test_start_up_within_the_maxima_is_accepted() -> None:
    written = {STARTUP: '{"timeout": "10m", "recoveryTimeout": "1m", "minReady": 3}'}
    assert check("vision", BOUNDED, annotations=written, request={GPU: 1}) == Findings()


REFUSED: dict[str, tuple[Mapping[str, Any], str, str, str]] = {
    "no such group": (
        {"group_name": "visoin"},
        "GroupAbsent",
        GROUP_LABEL,
        "there is no group visoin; name one that exists, `quotree tree` lists them",
    ),
    "inner group": (
        {"group_name": "lab"},
        "GroupNotLeaf",
        GROUP_LABEL,
        "group lab holds groups, not workloads; name one of its leaves: nlp, vision",
    ),
    "root": (
        {"group_name": "root"},
        "GroupNotLeaf",
        GROUP_LABEL,
        (
            "group root holds groups, not workloads; name one of its leaves: choosy, counted, going, inside, machines, "
            "nlp, shut, vision, waiting"
        ),
    ),
    "inner group without leaves": (
        {"group_name": "empty"},
        "GroupNotLeaf",
        GROUP_LABEL,
        "group empty holds groups, not workloads; it has no leaves yet",
    ),
    "pods made by others": (
        {"group_name": "vision", "managed_by": "example.com/own"},
        "ForeignController",
        "spec.managedBy",
        (
            "its pods are made by example.com/own, and only those that Kubernetes' own Job controller makes are "
            "counted; leave managedBy out"
        ),
    ),
    "pods taken in": (
        {"group_name": "vision", "manual_selector": True},
        "OwnSelector",
        "spec.manualSelector",
        "a selector of its own may match pods that are not counted; leave manualSelector and selector out",
    ),
    "a PriorityClass that an inner group does not have": (
        {"group_name": "vision", "settings": QuotaSettings(priorities=PRIORITIES), **pods(priority_class="top")},
        "PriorityNotAllowed",
        "spec.template.spec.priorityClassName",
        "is top; workloads of group lab may name low, high (quota.priorities)",
    ),
    "a PriorityClass that the nearer group does not have": (
        {"group_name": "nlp", "settings": QuotaSettings(priorities=PRIORITIES), **pods(priority_class="high")},
        "PriorityNotAllowed",
        "spec.template.spec.priorityClassName",
        "is high; workloads of group nlp may name low (quota.priorities)",
    ),
    "a priority without a class": (
        {"group_name": "vision", "settings": QuotaSettings(priorities=PRIORITIES), **pods(priority=2_000_000_000)},
        "PriorityNotAllowed",
        "spec.template.spec.priority",
        "states a number; workloads of group lab name a PriorityClass, or none (quota.priorities)",
    ),
    "no PriorityClass at all": (
        {"group_name": "counted", "settings": QuotaSettings(priorities=PRIORITIES), **pods(priority_class="low")},
        "PriorityNotAllowed",
        "spec.template.spec.priorityClassName",
        "is low; workloads of group strict name none (quota.priorities)",
    ),
    "a container that requests nothing": (
        {"group_name": "counted", **pods(unrequested=(("containers[1]", "memory"),))},
        "RequestAbsent",
        "spec.template.spec.containers[1]",
        "requests no memory; group strict has requireRequests, so that all use is counted",
    ),
    "devices that nobody can count": (
        {"group_name": "vision", **pods(uncountable=("ResourceClaim c requests all devices",))},
        "DevicesUncountable",
        "spec.template.spec.resourceClaims",
        "ResourceClaim c requests all devices",
    ),
    "pods that end late": (
        {
            "group_name": "vision",
            "settings": QuotaSettings(
                ReclaimSettings(max_termination_grace_period=MINUTE, long_termination=LongTermination.DENY)
            ),
            **pods(termination=61),
        },
        "LongTermination",
        "spec.template.spec.terminationGracePeriodSeconds",
        (
            "is 61; until pods end nobody else has what they use, so that at most 60 is wanted "
            "(quota.reclaim.maxTerminationGracePeriod); lower it"
        ),
    ),
    "system": (
        {"group_name": "system"},
        "SystemGroup",
        GROUP_LABEL,
        "group system is the cluster's own and never limited; name another group",
    ),
    "closed itself": (
        {"group_name": "shut"},
        "GroupClosed",
        GROUP_LABEL,
        "group shut is closed (stopPolicy: Close): no new workloads until that is taken back; name another group",
    ),
    "under deletion": (
        {"group_name": "going"},
        "GroupClosed",
        GROUP_LABEL,
        "group going is being deleted: no new workloads; name another group",
    ),
    "closed above": (
        {"group_name": "inside"},
        "GroupClosed",
        GROUP_LABEL,
        (
            "group inside is below closed, which is closed (stopPolicy: Close): no new workloads until "
            "that is taken back; "
            "name another group"
        ),
    ),
    "namespace not admitted": (
        {"group_name": "choosy", "namespace": "blue", "namespace_labels": {"team": "red", "tier": "tin"}},
        "NamespaceNotAdmitted",
        GROUP_LABEL,
        (
            "group choosy does not take workloads of namespace blue: its namespaceSelector requires "
            "tier In gold,silver; label the namespace so, or name another group"
        ),
    ),
    "namespace without a selector": (
        {"group_name": "vision", "namespace_labels": {}, "settings": QuotaSettings(open_groups=False)},
        "NamespaceNotAdmitted",
        GROUP_LABEL,
        (
            "group vision does not take workloads of namespace default: no namespaceSelector stands on its path, and "
            "quota.openGroups is false; give it one, or have the namespace labelled quotree.dev/group=vision"
        ),
    ),
    "namespace without any label of Quotree's": (
        {
            "group_name": "vision",
            "namespace": "blue",
            "namespace_labels": {"team": "blue", "quotree.dev/managed": "false"},
            "settings": QuotaSettings(unlabelled_namespaces=UnlabelledNamespaces.DENY),
        },
        "NamespaceUnlabelled",
        GROUP_LABEL,
        (
            "namespace blue has none of Quotree's labels, so that nothing else in it would be held; have it labelled "
            "quotree.dev/group=GROUP or quotree.dev/managed=true (quota.unlabelledNamespaces)"
        ),
    ),
    "namespace bound to another group": (
        {"group_name": "vision", "namespace": "blue", "namespace_labels": {"quotree.dev/group": "nlp"}},
        "NamespaceBound",
        GROUP_LABEL,
        "namespace blue is bound to group nlp by its own label; name nlp or a leaf below it",
    ),
    "flavor the group has not": (
        {"group_name": "nlp", "labels": {"quotree.dev/flavor": "t4"}},
        "FlavorNotInGroup",
        "metadata.labels[quotree.dev/flavor]",
        "group nlp has no quota of flavor t4; it has a100",
    ),
    "preemptible neither true nor false": (
        {"group_name": "vision", "labels": {"quotree.dev/preemptible": "False"}},
        "BadLabel",
        "metadata.labels[quotree.dev/preemptible]",
        'is "False"; write "true" or "false"',
    ),
    "hold neither true nor false": (
        {"group_name": "vision", "labels": {"quotree.dev/hold": ""}},
        "BadLabel",
        "metadata.labels[quotree.dev/hold]",
        'is ""; write "true" or "false"',
    ),
    "label of others neither true nor false": (
        {"group_name": "vision", "labels": {"hold.quotree.dev/scan": "no"}},
        "BadLabel",
        "metadata.labels[hold.quotree.dev/scan]",
        'is "no"; write "true" or "false"',
    ),
    "no such priority": (
        {"group_name": "vision", "labels": {PRIORITY: "urgnt"}, "settings": NAMED},
        "WorkloadPriorityAbsent",
        f"metadata.labels[{PRIORITY}]",
        (
            'is "urgnt"; there is no such one; workloads of group vision may name low, urgent '
            "(quota.workloadPriorities), or leave the label out"
        ),
    ),
    "no priorities at all": (
        {"group_name": "vision", "labels": {PRIORITY: ""}},
        "WorkloadPriorityAbsent",
        f"metadata.labels[{PRIORITY}]",
        'is ""; there is no such one; they may name none (quota.workloadPriorities), or leave the label out',
    ),
    "priority of other groups": (
        {"group_name": "choosy", "labels": {PRIORITY: "urgent"}, "settings": NAMED},
        "WorkloadPriorityNotAllowed",
        f"metadata.labels[{PRIORITY}]",
        'is "urgent"; workloads of group choosy may name low (quota.workloadPriorities), or leave the label out',
    ),
    "start-up that is no object": (
        {"group_name": "vision", "annotations": {STARTUP: "10m"}},
        "BadAnnotation",
        f"metadata.annotations[{STARTUP}]",
        'is \'10m\'; write a JSON object such as {"timeout": "10m", "recoveryTimeout": "5m", "minReady": 6}',
    ),
    "start-up with an unknown word": (
        {"group_name": "vision", "annotations": {STARTUP: '{"time": "10m"}'}},
        "BadAnnotation",
        f"metadata.annotations[{STARTUP}]",
        "has 'time'; write some of timeout, recoveryTimeout, minReady and gang",
    ),
    "start-up that no pod is in time for": (
        {"group_name": "vision", "annotations": {STARTUP: '{"timeout": "0s"}'}},
        "BadAnnotation",
        f"metadata.annotations[{STARTUP}]",
        "has timeout 0s; write a duration above 0, such as 10m",
    ),
    "start-up with half a pod": (
        {"group_name": "vision", "annotations": {STARTUP: '{"minReady": 0.5}'}},
        "BadAnnotation",
        f"metadata.annotations[{STARTUP}]",
        "has minReady 0.5; write a number of pods, 1 or more",
    ),
    "start-up with a number of gangs": (
        {"group_name": "vision", "annotations": {STARTUP: '{"gang": 1}'}},
        "BadAnnotation",
        f"metadata.annotations[{STARTUP}]",
        "has gang 1; write true or false",
    ),
    "start-up that takes longer than any group may set": (
        {"group_name": "vision", "annotations": {STARTUP: '{"timeout": "11m"}'}, "settings": BOUNDED},
        "StartupAboveMaximum",
        f"metadata.annotations[{STARTUP}]",
        "has timeout 11m, at most 10m is allowed (quota.maxima.startup.timeout); lower it",
    ),
    "run time that is no duration": (
        {"group_name": "vision", "annotations": {"quotree.dev/max-run-time": "8"}},
        "BadAnnotation",
        "metadata.annotations[quotree.dev/max-run-time]",
        "is '8'; write a duration of at least 1s, such as 8h",
    ),
    "expected run time that is no duration": (
        {"group_name": "vision", "annotations": {"quotree.dev/expected-run-time": "8"}},
        "BadAnnotation",
        "metadata.annotations[quotree.dev/expected-run-time]",
        "is '8'; write a duration of at least 1s, such as 8h",
    ),
    "run time in which nothing could start": (
        {"group_name": "vision", "annotations": {"quotree.dev/max-run-time": "0s"}},
        "BadAnnotation",
        "metadata.annotations[quotree.dev/max-run-time]",
        "is '0s'; write a duration of at least 1s, such as 8h",
    ),
    "run time that nobody could read": (
        {"group_name": "vision", "annotations": {"quotree.dev/max-run-time": "1" * 1000 + "h" * 100}},
        "BadAnnotation",
        "metadata.annotations[quotree.dev/max-run-time]",
        f"is '{'1' * 40}'; write a duration of at least 1s, such as 8h",
    ),
    "size without a pod group": (
        {"group_name": "vision", "labels": {"quotree.dev/pod-group-size": "3"}},
        "BadPodGroup",
        "metadata.labels[quotree.dev/pod-group-size]",
        "says a size without a name; add the label quotree.dev/pod-group or take this one out",
    ),
}


@pytest.mark.parametrize(("work", "code", "field", "message"), REFUSED.values(), ids=REFUSED)
def test_illegal_workload_is_refused(work: Mapping[str, Any], code: str, field: str, message: str) -> None:
    found = check(**work)
    assert [(each.rule, each.field, each.message) for each in found.violations] == [(code, field, message)]
    assert found.warnings == ()


def test_namespace_must_match_the_whole_selector_and_is_not_checked_when_unknown() -> None:
    assert check("choosy", namespace_labels={"team": "red", "tier": "gold"}).violations == ()
    assert check("choosy", namespace_labels=None).violations == ()


def test_message_says_that_the_group_came_from_the_namespace() -> None:
    found = check_new_workload(SubmittedWorkload("Job/x", "nope"), WorkloadContext(TREE))
    assert [each.field for each in found.violations] == ["metadata.namespace"]


def test_workload_is_refused_for_missing_permissions_of_its_owner() -> None:
    context = WorkloadContext(TREE, FLAVORS, lacks_use="neither user ann nor bob")
    found = check_new_workload(SubmittedWorkload("Job/x", "nlp", labels={"quotree.dev/group": "nlp"}), context)
    assert [each.text for each in found.violations] == [
        (
            "Job 'x' metadata.labels[quotree.dev/group]: neither user ann nor bob may use group nlp: one of them needs "
            "the verb use on that QuotaGroup (quota.requireUse); have it granted, or name another group (UseNotAllowed)"
        )
    ]


@pytest.mark.parametrize(
    ("most", "least", "named"),
    [
        pytest.param(8, 8, "the cluster has", id="the cluster before groups"),
        pytest.param(6, 6, "group outer may use at most", id="the outer group before the inner one, and before a min"),
        pytest.param(6, 5, "it is not preemptible and min of group inner is", id="the tightest"),
    ],
)
def test_of_equal_limits_the_widest_is_named(most: int, least: int, named: str) -> None:
    quotas = [{"flavor": "a100", "min": {GPU: least}, "max": {GPU: most}}]
    tree = Tree.of([group("outer", isParent=True, quotas=quotas), group("inner", "outer", quotas=quotas)])
    work = SubmittedWorkload("Job/x", "inner", labels={"quotree.dev/preemptible": "false"}, request={GPU: 1})
    key = FlavorResource("a100", GPU)
    assert bounds_of(work, WorkloadContext(tree, FLAVORS, {key: 8})) == {key: (min(most, least), named)}
