"""Which priority orders a workload: its label's, else that of its pods. docs/specification.md §6.10."""

from typing import Any

import pytest

from shared.api.core.pod import PodSpec
from shared.api.core.priority import Priorities, read_priority_class
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.priorities import OrderPriority, priority_of
from shared.quota.model.rules.workloads.submitted_workload import PodTerms
from shared.quota.model.settings import WorkloadPriority

CLASSES = Priorities.of([read_priority_class({"metadata": {"name": "high"}, "value": 100})])
NAMED = {"low": WorkloadPriority(-1), "urgent": WorkloadPriority(9, ("vision",))}
PRIORITY = "quotree.dev/priority"


@pytest.mark.parametrize(
    ("labels", "class_name", "expected"),
    [
        pytest.param({}, "", OrderPriority(0), id="nothing"),
        pytest.param({}, "high", OrderPriority(100, "PriorityClass high"), id="the class of its pods"),
        pytest.param({PRIORITY: "low"}, "", OrderPriority(-1, f"label {PRIORITY}: low"), id="its label"),
        pytest.param(
            {PRIORITY: "urgent"},
            "high",
            OrderPriority(9, f"label {PRIORITY}: urgent; PriorityClass high is for kube-scheduler alone"),
            id="the label before the class",
        ),
        pytest.param(
            {PRIORITY: "gone"},
            "high",
            OrderPriority(
                100,
                "PriorityClass high",
                (f"label {PRIORITY} is 'gone', which the settings do not have; it counts as absent",),
            ),
            id="a label that names nothing",
        ),
        pytest.param(
            {PRIORITY: "low"},
            "lost",
            OrderPriority(
                -1,
                f"label {PRIORITY}: low; PriorityClass lost is for kube-scheduler alone",
                ("there is no PriorityClass 'lost'; the priority counts as none",),
            ),
            id="a class that names nothing",
        ),
    ],
)
def test_label_counts_before_the_class(labels: dict[str, str], class_name: str, expected: OrderPriority) -> None:
    assert priority_of(labels, PodSpec(priority_class_name=class_name), CLASSES, NAMED) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"value": 100}, True),
        ({"value": 100, "preemptionPolicy": "PreemptLowerPriority"}, True),
        ({"value": 100, "preemptionPolicy": "Never"}, False),
        ({"value": 50}, False),
        ({"value": -1}, False),
    ],
)
def test_class_above_the_default_preempts_unless_it_says_never(written: dict[str, Any], expected: bool) -> None:
    default = {"metadata": {"name": "usual"}, "value": 50, "globalDefault": True}
    classes = [read_priority_class(each) for each in (default, {"metadata": {"name": "x"}, **written})]
    assert ("x" in Priorities.of(classes).preempting) == expected
    terms = PodTerms.of(PodSpec(priority_class_name="x"), NamespaceContext(priorities=Priorities.of(classes)))
    assert terms.preempts == expected
