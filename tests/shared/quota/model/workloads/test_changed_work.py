"""Rules about edits of workloads, where the tests of the webhook's reviews do not tell the cases apart."""

from dataclasses import replace

import pytest

from shared.api.names import MAX_RUN_TIME, PRIORITY_LABEL
from shared.quota.model.rules.workloads.changed_workload import (
    WorkloadEdit,
    WorkloadProgress,
    check_edit,
    check_job_kept,
)
from shared.quota.model.rules.workloads.submitted_workload import PodTerms, SubmittedWorkload, WorkloadContext
from shared.quota.model.settings import QuotaSettings, WorkloadPriority
from tests.shared.quota.model.workloads.work_context import FLAVORS, GPU, PRIORITIES, TREE

POD = SubmittedWorkload("Pod/x", "vision", labels={"quotree.dev/group": "vision"})
OF_A_JOB, OF_NONE = WorkloadProgress(held=False, job=("uid",)), WorkloadProgress(held=False)


@pytest.mark.parametrize(("before", "after"), [(POD, POD), (POD, None), (None, POD)], ids=["stays", "leaves", "joins"])
def test_running_pod_keeps_its_job_whether_it_is_managed_before_or_after(
    before: SubmittedWorkload | None, after: SubmittedWorkload | None
) -> None:
    left = WorkloadEdit(before, after, OF_A_JOB, OF_NONE, {})
    assert [(each.rule, each.object) for each in check_job_kept(left)] == [("JobChanged", "Pod/x")]
    assert list(check_job_kept(replace(left, now=OF_A_JOB))) == []


@pytest.mark.parametrize(
    ("named_before", "refused"), [("low", ["PriorityNotAllowed"]), ("top", [])], ids=["changed", "as it was"]
)
def test_priority_class_is_judged_only_where_the_edit_changes_it(named_before: str, refused: list[str]) -> None:
    context = WorkloadContext(TREE, FLAVORS, None, QuotaSettings(priorities=PRIORITIES))
    before, after = (replace(POD, terms=(PodTerms(priority_class=name),)) for name in (named_before, "top"))
    found = check_edit(WorkloadEdit(before, after, OF_NONE, OF_NONE, {}), context)
    assert [each.rule for each in found.violations] == refused


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        pytest.param({}, {MAX_RUN_TIME: "8h"}, [], id="declared"),
        pytest.param({MAX_RUN_TIME: "8h"}, {}, [], id="taken back"),
        pytest.param({}, {MAX_RUN_TIME: "8"}, ["BadAnnotation"], id="not readable"),
        pytest.param({MAX_RUN_TIME: "8"}, {MAX_RUN_TIME: "8", "note": "x"}, [], id="as it was"),
    ],
)
def test_declared_run_time_is_judged_where_the_edit_changes_it_while_it_runs_too(
    before: dict[str, str], after: dict[str, str], refused: list[str]
) -> None:
    context = WorkloadContext(TREE, FLAVORS)
    was, now = (replace(POD, annotations=each) for each in (before, after))
    found = check_edit(WorkloadEdit(was, now, OF_NONE, OF_NONE, {}), context)
    assert [each.rule for each in found.violations] == refused


@pytest.mark.parametrize("progress", [OF_NONE, WorkloadProgress(held=True)], ids=["running", "waiting"])
@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        pytest.param({}, {PRIORITY_LABEL: "low"}, [], id="set"),
        pytest.param({PRIORITY_LABEL: "low"}, {}, [], id="taken off"),
        pytest.param({PRIORITY_LABEL: "low"}, {PRIORITY_LABEL: "high"}, ["WorkloadPriorityNotAllowed"], id="raised"),
        pytest.param({PRIORITY_LABEL: "high"}, {PRIORITY_LABEL: "high", "x": "y"}, [], id="as it was"),
    ],
)
def test_priority_can_change_at_any_time_to_one_that_the_group_may_use(
    progress: WorkloadProgress, before: dict[str, str], after: dict[str, str], refused: list[str]
) -> None:
    named = {"low": WorkloadPriority(1), "high": WorkloadPriority(2, ("choosy",))}
    context = WorkloadContext(TREE, FLAVORS, None, QuotaSettings(workload_priorities=named))
    was, now = (replace(POD, labels={**POD.labels, **each}) for each in (before, after))
    found = check_edit(WorkloadEdit(was, now, progress, progress, {}), context)
    assert [each.rule for each in found.violations] == refused


SCAN, REVIEW = "hold.quotree.dev/scan", "hold.quotree.dev/review"
GATES = {"scan": ("scanner", "lead")}


def gated(*gates: str, group: str = "nlp", value: str = "true") -> SubmittedWorkload:
    return SubmittedWorkload("Pod/x", group, labels=dict.fromkeys(gates, value))


@pytest.mark.parametrize(
    ("user", "before", "after", "kept"),
    [
        pytest.param("owner", gated(SCAN), gated(), [SCAN], id="removed by its owner"),
        pytest.param("owner", gated(SCAN), gated(SCAN, value="false"), [SCAN], id="switched off"),
        pytest.param("owner", gated(SCAN), gated(group="vision"), [SCAN], id="with another group"),
        pytest.param("owner", gated(SCAN, REVIEW), gated(), [SCAN], id="beside one that nobody listed"),
        pytest.param("owner", gated(REVIEW), gated(), [], id="one that nobody listed"),
        pytest.param("owner", gated(), gated(SCAN), [], id="set by anyone"),
        pytest.param("owner", gated(SCAN, value="false"), gated(), [], id="one that held nothing"),
        pytest.param("scanner", gated(SCAN), gated(), [], id="by a user who may"),
        pytest.param("lead", gated(SCAN), gated(), [], id="by another who may"),
    ],
)
def test_listed_hold_gate_is_taken_off_only_by_its_users(
    user: str, before: SubmittedWorkload, after: SubmittedWorkload, kept: list[str]
) -> None:
    waits = WorkloadProgress(held=True)
    context = WorkloadContext(TREE, FLAVORS, settings=QuotaSettings(gates=GATES), user=user)
    found = check_edit(WorkloadEdit(before, after, waits, waits, {}), context)
    assert [each.field for each in found.violations if each.rule == "GateRemoved"] == [
        f"metadata.labels[{gate}]" for gate in kept
    ]


LARGE = SubmittedWorkload("Pod/x", "nlp", labels={"quotree.dev/group": "nlp"}, request={GPU: 7})
"""More than the 6 that nlp may use."""


@pytest.mark.parametrize(
    ("after", "warned"),
    [
        pytest.param(replace(LARGE, request={GPU: 8}), True, id="a larger request"),
        pytest.param(LARGE, False, id="the same request"),
        pytest.param(
            replace(LARGE, labels={**LARGE.labels, "quotree.dev/preemptible": "true"}), True, id="another label"
        ),
    ],
)
def test_whether_it_could_ever_start_is_judged_where_the_edit_may_change_that(
    after: SubmittedWorkload, *, warned: bool
) -> None:
    waits = WorkloadProgress(held=True)
    found = check_edit(WorkloadEdit(LARGE, after, waits, waits, {}), WorkloadContext(TREE, FLAVORS))
    assert ([each.rule for each in found.violations], bool(found.warnings)) == ([], warned)


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        pytest.param({}, {"hold": "maybe"}, ["metadata.labels[quotree.dev/hold]"], id="a value it must not have"),
        pytest.param(
            {"hold": "true"},
            {"hold": "true", "hold.quotree.dev/scan": "maybe"},
            ["metadata.labels[hold.quotree.dev/scan]"],
            id="a value that a label of others must not have",
        ),
        pytest.param({"hold": "maybe"}, {"hold": "maybe", "preemptible": "true"}, [], id="one that was there before"),
        pytest.param(
            {"pod-group": "g", "pod-group-size": "2"},
            {"pod-group-size": "2"},
            ["metadata.labels[quotree.dev/pod-group-size]"],
            id="a pod group's name taken out",
        ),
    ],
)
def test_labels_are_judged_only_where_the_edit_changes_them(
    before: dict[str, str], after: dict[str, str], refused: list[str]
) -> None:
    was, now = (
        replace(
            POD,
            labels={
                **POD.labels,
                **{name if "/" in name else f"quotree.dev/{name}": value for name, value in labels.items()},
            },
        )
        for labels in (before, after)
    )
    waits = WorkloadProgress(held=True)
    found = check_edit(WorkloadEdit(was, now, waits, waits, {}), WorkloadContext(TREE, FLAVORS))
    assert [each.field for each in found.violations] == refused
