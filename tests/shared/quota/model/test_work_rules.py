"""The rules about work, each just below and just above the line, with the whole message."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from shared.api.core.placement import Placement
from shared.quota.model.flavor import Flavor
from shared.quota.model.read.groups import read_group_manifest
from shared.quota.model.rules.findings import Findings
from shared.quota.model.rules.workloads.new_workload import check_new_workload
from shared.quota.model.rules.workloads.submitted_workload import (
    NeverFits,
    PodTerms,
    SubmittedWorkload,
    WorkloadContext,
)
from shared.quota.model.settings import LongTermination, QuotaSettings, ReclaimSettings, Uncovered
from shared.quota.model.tree import Group, Tree
from shared.resources import FlavorResource

GROUP_LABEL = "metadata.labels[quotree.dev/group]"
GPU = "nvidia.com/gpu"


def group(name: str, parent: str | None = None, **spec: Any) -> Group:
    return read_group_manifest({"metadata": {"name": name}, "spec": {**({"parent": parent} if parent else {}), **spec}})


def quota(flavor: str, least: int | None, most: int | None = None, **more: Any) -> dict[str, Any]:
    """An entry about GPUs."""
    entry: dict[str, Any] = {"flavor": flavor, **more}
    if least is not None:
        entry["min"] = {GPU: least}
    if most is not None:
        entry["max"] = {GPU: most}
    return entry


TREE = Tree.of(
    [
        group("lab", isParent=True, quotas=[quota("a100", 8, 16), quota("t4", 8)]),
        group("vision", "lab", quotas=[quota("a100", 4, 32), quota("t4", 4)]),
        group("nlp", "lab", quotas=[quota("a100", 4, borrowingLimit={GPU: 2})]),
        group("closed", isParent=True, stopPolicy="Close"),
        group("inside", "closed"),
        group("shut", stopPolicy="Close"),
        group("held", isParent=True, stopPolicy="HoldAndDrain", quotas=[quota("a100", 8)]),
        group("waiting", "held", quotas=[quota("a100", 8)]),
        group("lost", "absent"),
        group("empty", isParent=True),
        group("system"),
        group("strict", isParent=True, requireRequests=True, quotas=[{"max": {"cpu": 8, "memory": 8, GPU: 8}}]),
        group("counted", "strict", quotas=[{"max": {"cpu": 8, "memory": 8}}]),
        group("machines", "strict", quotas=[{"max": {"cpu": 8, GPU: 8}}]),
        group(
            "choosy",
            namespaceSelector={
                "matchLabels": {"team": "red"},
                "matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold", "silver"]}],
            },
        ),
    ]
)
PRIORITIES = {"lab": ("low", "high"), "nlp": ("low",), "strict": ()}
MINUTE = timedelta(minutes=1)


def pods(**terms: Any) -> dict[str, Any]:
    return {"terms": (PodTerms(), PodTerms(**terms))}


FLAVORS = {"a100": Flavor("a100", {"gpu": "a100"}), "t4": Flavor("t4", {"gpu": "t4"})}


def check(group_name: str, settings: QuotaSettings | None = None, **fields: Any) -> Findings:
    context = WorkloadContext(TREE, FLAVORS, fields.pop("capacity", None), settings or QuotaSettings())
    labels = {"quotree.dev/group": group_name, **fields.pop("labels", {})}
    return check_new_workload(SubmittedWorkload("Job/x", group_name, labels=labels, **fields), context)


def test_legal_workload_is_accepted_without_a_warning() -> None:
    assert check("vision", request={GPU: 16}, managed_by="kubernetes.io/job-controller") == Findings()


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
            "group root holds groups, not workloads; name one of its leaves: choosy, counted, inside, machines, nlp, "
            "shut, vision, waiting"
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
            "quota.openGroups is false; give it one"
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


WARNED: dict[str, tuple[Mapping[str, Any], list[tuple[str, str]]]] = {
    "stopped above": (
        {"group_name": "waiting", "request": {GPU: 1}},
        [("GroupStopped", "group held has stopPolicy HoldAndDrain: nothing starts until that is taken back")],
    ),
    "detached": (
        {"group_name": "lost", "request": {GPU: 1}},
        [("GroupInactive", "group lost is inactive: its path does not lead to root; nothing starts until it does")],
    ),
    "pods that end late": (
        {
            "group_name": "vision",
            "settings": QuotaSettings(ReclaimSettings(max_termination_grace_period=MINUTE)),
            **pods(termination=3600),
        },
        [
            (
                "LongTermination",
                (
                    "is 3600; until pods end nobody else has what they use, so that at most 60 is wanted "
                    "(quota.reclaim.maxTerminationGracePeriod); lower it"
                ),
            )
        ],
    ),
    "uncovered resource": (
        {"group_name": "nlp", "request": {GPU: 1, "cpu": 1}},
        [
            (
                "ResourceNotCovered",
                (
                    "requests cpu, of which group nlp has no quota (it has nvidia.com/gpu); it will never start: leave "
                    "that out, or add it to the group's quotas"
                ),
            )
        ],
    ),
    "just above the ancestor's max": (
        {"group_name": "vision", "labels": {"quotree.dev/flavor": "a100"}, "request": {GPU: 17}},
        [
            (
                "NeverFits",
                (
                    "will never start: flavor a100: it requests 17 nvidia.com/gpu, group lab may use at "
                    "most 16; request "
                    "less or raise that; flavor t4 is not the one requested"
                ),
            )
        ],
    ),
    "just above the borrowing limit": (
        {"group_name": "nlp", "request": {GPU: 7}},
        [
            (
                "NeverFits",
                (
                    "will never start: flavor a100: it requests 7 nvidia.com/gpu, group nlp may use at most 6; request "
                    "less or raise that"
                ),
            )
        ],
    ),
    "just above what is promised, not preemptible": (
        {"group_name": "nlp", "labels": {"quotree.dev/preemptible": "false"}, "request": {GPU: 5}},
        [
            (
                "NeverFits",
                (
                    "will never start: flavor a100: it requests 5 nvidia.com/gpu, it is not preemptible "
                    "and min of group "
                    "nlp is 4; request less or raise that"
                ),
            )
        ],
    ),
    "just above capacity": (
        {
            "group_name": "nlp",
            "request": {GPU: 5},
            "capacity": {FlavorResource("a100", GPU): 4},
        },
        [
            (
                "NeverFits",
                (
                    "will never start: flavor a100: it requests 5 nvidia.com/gpu, the cluster has 4; request less or "
                    "raise that"
                ),
            )
        ],
    ),
    "nodes of no flavor": (
        {"group_name": "nlp", "request": {GPU: 1}, "placement": Placement({"gpu": "h100"})},
        [
            (
                "NeverFits",
                "will never start: flavor a100: nodeSelector requires gpu=h100, the flavor is gpu=a100",
            )
        ],
    ),
}


@pytest.mark.parametrize(("work", "warnings"), WARNED.values(), ids=WARNED)
def test_workload_that_cannot_start_is_accepted_with_a_warning(
    work: Mapping[str, Any], warnings: list[tuple[str, str]]
) -> None:
    found = check(**work)
    assert [(each.rule, each.message) for each in found.warnings] == warnings
    assert found.violations == ()


FITTING: dict[str, Mapping[str, Any]] = {
    "the ancestor's max": {"group_name": "vision", "labels": {"quotree.dev/flavor": "a100"}, "request": {GPU: 16}},
    "the borrowing limit": {"group_name": "nlp", "request": {GPU: 6}},
    "what is promised, not preemptible": {
        "group_name": "nlp",
        "labels": {"quotree.dev/preemptible": "false"},
        "request": {GPU: 4},
    },
    "a PriorityClass of the nearest group": {
        "group_name": "nlp",
        "settings": QuotaSettings(priorities=PRIORITIES),
        **pods(priority_class="low"),
    },
    "a PriorityClass of a group without bounds": {
        "group_name": "choosy",
        "settings": QuotaSettings(priorities=PRIORITIES),
        **pods(priority_class="top"),
    },
    "an absent request of what is not covered": {
        "group_name": "machines",
        **pods(unrequested=(("containers[0]", "memory"),)),
    },
    "an absent request of what is ignored": {
        "group_name": "machines",
        "settings": QuotaSettings(ignored_resources=frozenset({"cpu"})),
        **pods(unrequested=(("containers[0]", "cpu"),)),
    },
    "pods that end in time": {
        "group_name": "vision",
        "settings": QuotaSettings(ReclaimSettings(max_termination_grace_period=MINUTE)),
        **pods(termination=60),
    },
    "capacity": {"group_name": "nlp", "request": {GPU: 4}, "capacity": {FlavorResource("a100", GPU): 4}},
    "another flavor": {"group_name": "vision", "request": {GPU: 1000}},
    "uncovered and ignored": {
        "group_name": "nlp",
        "request": {GPU: 1, "cpu": 1},
        "settings": QuotaSettings(uncovered=Uncovered.IGNORE),
    },
}


@pytest.mark.parametrize("work", FITTING.values(), ids=FITTING)
def test_workload_exactly_at_a_limit_gets_no_warning(work: Mapping[str, Any]) -> None:
    assert check(**work) == Findings()


def test_pod_that_fits_no_node_is_warned_of_or_refused() -> None:
    nodes = {"a100": ({GPU: 2, "cpu": 8000},), "t4": ()}
    context = WorkloadContext(TREE, FLAVORS, nodes=nodes)
    work = SubmittedWorkload("Job/x", "vision", request={GPU: 4}, pods=1)
    found = check_new_workload(work, context)
    assert [(each.rule, each.message) for each in found.warnings] == [
        (
            "NoNodeFits",
            (
                "will never start: flavor a100: one pod requests nvidia.com/gpu 4; the largest ready node has "
                "nvidia.com/gpu 2; let a pod request less, or add a larger node; flavor t4: one pod requests "
                "nvidia.com/gpu 4, and no node of it is ready; let a pod request less, or add a larger node"
            ),
        )
    ]
    assert check_new_workload(replace(work, pods=2), context) == Findings()
    assert check_new_workload(work, replace(context, nodes={"a100": nodes["a100"]})) == Findings()
    denied = check_new_workload(work, replace(context, never_fits=NeverFits.DENY))
    assert [each.rule for each in denied.violations] == ["NoNodeFits"]


def test_workload_that_never_fits_is_refused_where_the_settings_say_so() -> None:
    context = WorkloadContext(TREE, FLAVORS, never_fits=NeverFits.DENY)
    found = check_new_workload(SubmittedWorkload("Job/x", "nlp", request={GPU: 7, "cpu": 1}), context)
    assert [each.rule for each in found.violations] == ["ResourceNotCovered", "NeverFits"]


def test_workload_is_refused_for_missing_permissions_of_its_owner() -> None:
    context = WorkloadContext(TREE, FLAVORS, lacks_use="neither user ann nor bob")
    found = check_new_workload(SubmittedWorkload("Job/x", "nlp", labels={"quotree.dev/group": "nlp"}), context)
    assert [each.text for each in found.violations] == [
        (
            "Job 'x' metadata.labels[quotree.dev/group]: neither user ann nor bob may use group nlp: one of them needs "
            "the verb use on that QuotaGroup (quota.requireUse); have it granted, or name another group (UseNotAllowed)"
        )
    ]
