"""What workloads request of counts: all their pods, and 1 for themselves."""

from dataclasses import replace

import pytest

from shared.quota.model.counts.requests import with_counts_requested
from shared.quota.model.workload import PodSet, Workload
from tests.builders import in_main, pending, running

BOTH = ("pods", "workloads")
JOB = pending("vision", 2, pods=4)
SETS = replace(JOB, pod_sets=(PodSet("head", {"gpu": 1}, 1), PodSet("workers", {"gpu": 1}, 3)))


@pytest.mark.parametrize(
    ("workload", "counts", "request_"),
    [
        (JOB, (), {"gpu": 2}),
        (JOB, ("pods",), {"gpu": 2, "pods": 4}),
        (JOB, BOTH, {"gpu": 2, "pods": 4, "workloads": 1}),
        (replace(JOB, pods=0), BOTH, {"gpu": 2, "workloads": 1}),
        (replace(JOB, kind="TerminatingJob/uid"), BOTH, {"gpu": 2, "pods": 4}),
        (replace(JOB, request={"gpu": 2, "pods": 9, "workloads": 1}), ("pods",), {"gpu": 2, "pods": 4}),
        (replace(JOB, request={"gpu": 2, "pods": 9}), (), {"gpu": 2}),
    ],
    ids=["none", "pods", "both", "no pods left", "what is left of a Job", "counted again", "not counted any more"],
)
def test_workload_requests_its_pods_and_itself(
    workload: Workload, counts: tuple[str, ...], request_: dict[str, int]
) -> None:
    found = with_counts_requested(workload, counts)
    assert found.request == request_
    assert with_counts_requested(found, counts) == found


def test_first_pod_set_requests_the_counts_of_all() -> None:
    found = with_counts_requested(SETS, BOTH)
    assert found.request == {"gpu": 2, "pods": 4, "workloads": 1}
    assert [each.request for each in found.sets] == [{"gpu": 1, "pods": 4, "workloads": 1}, {"gpu": 1}]


def test_what_was_started_before_a_count_was_named_uses_it() -> None:
    started = running("vision", 2, pods=4)
    found = with_counts_requested(started, BOTH)
    assert found.admission is not None
    assert found.admission.flavors == in_main({"gpu": "default", "pods": "counts", "workloads": "counts"})
