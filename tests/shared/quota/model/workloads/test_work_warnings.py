"""Legal workloads that cannot start: each gets a warning that says what prevents it, or is refused by the settings."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from shared.api.core.placement import Placement
from shared.quota.model.rules.findings import Findings
from shared.quota.model.rules.workloads.new_workload import check_new_workload
from shared.quota.model.rules.workloads.submitted_workload import NeverFits, SubmittedWorkload, WorkloadContext
from shared.quota.model.settings import QuotaSettings, ReclaimSettings, Uncovered
from shared.quota.model.workload import PodSet
from shared.resources import FlavorResource
from tests.shared.quota.model.workloads.work_context import FLAVORS, GPU, MINUTE, PRIORITIES, TREE, check, pods

FOUR_OF_EACH = {FlavorResource("a100", GPU): 4, FlavorResource("t4", GPU): 4}


def pod_sets(*sets: tuple[int, Placement]) -> dict[str, Any]:
    """GPUs and placement of each pod set."""
    return {
        "request": {GPU: sum(amount for amount, _ in sets)},
        "pod_sets": tuple(PodSet(f"set-{number}", {GPU: each}, 1, at) for number, (each, at) in enumerate(sets)),
    }


A100, T4, H100, ANY = Placement({"gpu": "a100"}), Placement({"gpu": "t4"}), Placement({"gpu": "h100"}), Placement()

WARNED: dict[str, tuple[Mapping[str, Any], list[tuple[str, str]]]] = {
    "stopped above": (
        {"group_name": "waiting", "request": {GPU: 1}},
        [("GroupStopped", "group held has stopPolicy HoldAndDrain: nothing starts until that is taken back")],
    ),
    "detached": (
        {"group_name": "lost", "request": {GPU: 1}},
        [("GroupInactive", "group lost is inactive: its path does not lead to root; nothing starts until it does")],
    ),
    "containers that request nothing": (
        {"group_name": "vision", **pods(unrequested=(("containers[0].resources.requests", GPU),))},
        [
            (
                "RequestsNotRequired",
                (
                    f"a container requests no {GPU}: it uses that and no quota; group vision could require it "
                    "(requireRequests)"
                ),
            )
        ],
    ),
    "class by which the scheduler preempts": (
        {"group_name": "vision", **pods(priority_class="top", preempts=True)},
        [
            (
                "PreemptsPods",
                (
                    "is top: kube-scheduler preempts pods of other groups for it where no node has room; name a class "
                    "with preemptionPolicy Never, or a priority for the queue alone (quotree.dev/priority)"
                ),
            )
        ],
    ),
    "run time that is longer than its group's": (
        {"group_name": "counted", "annotations": {"quotree.dev/max-run-time": "25h"}},
        [("RunTimeLonger", "is 25h; group strict lets it run for 24h")],
    ),
    "expected run time that is longer than its group's": (
        {"group_name": "counted", "annotations": {"quotree.dev/expected-run-time": "25h"}},
        [("RunTimeLonger", "is 25h; group strict lets it run for 24h")],
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
    "pod sets, together more than all flavors have": (
        {"group_name": "vision", "capacity": FOUR_OF_EACH, **pod_sets((3, ANY), (3, ANY), (3, ANY))},
        [
            (
                "NeverFits",
                (
                    "will never start: its pod sets together request 9 nvidia.com/gpu; flavor a100: the cluster has 4; "
                    "flavor t4: the cluster has 4; request less or raise that"
                ),
            )
        ],
    ),
    "one of two pod sets, on nodes of no flavor": (
        {"group_name": "nlp", **pod_sets((1, A100), (1, H100))},
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
    "pod sets in flavors of their own": {
        "group_name": "vision",
        "capacity": FOUR_OF_EACH,
        **pod_sets((3, ANY), (4, ANY), (1, ANY)),
    },
    "pod sets on different nodes": {"group_name": "vision", "capacity": FOUR_OF_EACH, **pod_sets((3, A100), (2, T4))},
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
