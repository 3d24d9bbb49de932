"""A review computes the request of each set of pods once, whatever it checks."""

from collections.abc import Callable
from typing import Any

import pytest

from shared.api.review import Review
from shared.quota.model.read.jobs import pod_request_of
from tests.shared.kinds.objects import jobset, metadata, preset, replicated
from tests.webhook.workloads.review_builders import HELD, context, job, judge_job, mutate_job, review
from webhook.verdicts import Verdict
from webhook.workloads import workload_side
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.reviews import judge, mutate
from webhook.workloads.sorts.kind_object import KindReviews

JOBSET = KindReviews(preset("JobSet"))


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The specs whose request was computed, in order."""
    specs: list[Any] = []
    compute = pod_request_of

    def counting(spec: Any, *rest: Any) -> Any:
        specs.append(spec)
        return compute(spec, *rest)

    monkeypatch.setattr(workload_side, "pod_request_of", counting)
    return specs


@pytest.mark.parametrize("answer", [mutate_job, judge_job])
def test_request_of_a_job_is_computed_once_for_each_side(
    computed: list[Any], answer: Callable[[Review, ReviewContext], Verdict]
) -> None:
    answer(review(job("vision", cpu=2, **HELD)), context())
    assert len(computed) == 1
    computed.clear()
    answer(review(job("vision", cpu=3, **HELD), job("vision", cpu=2, **HELD)), context())
    assert len(computed) == 2


@pytest.mark.parametrize("answer", [mutate, judge])
def test_request_of_each_pod_set_is_computed_once_for_each_side(computed: list[Any], answer: Any) -> None:
    def body(cpu: str) -> dict[str, Any]:
        sets = (replicated("driver", cpu=cpu), replicated("workers", cpu=cpu))
        return {**jobset(*sets, suspend=True), "metadata": metadata(labels={"quotree.dev/group": "vision"})}

    answer(JOBSET, review(body("2"), body("1")), context())
    assert len(computed) == 4
