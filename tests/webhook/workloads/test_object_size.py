"""A managed workload is bounded in size, so that decisions can be written on it and reading it stays fast."""

from typing import Any

import pytest

from tests.webhook.workloads.review_builders import HELD, context, job, judge_job, refusals, review
from webhook.verdicts import YES

KIB = 1024


def affinity(*terms: int) -> dict[str, Any]:
    """One required term for each number, with an expression of that many values."""
    written = [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": [f"z-{at}" for at in range(count)]}]}
        for count in terms
    ]
    required = {"nodeSelectorTerms": written}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


MANY = {f"example.com/r-{at}": "0" for at in range(65)}
LARGE = {
    "annotations": (
        {"annotations": {"mine": "x" * (192 * KIB)}},
        "metadata.annotations: has 196612 bytes, a managed workload has at most 196608; move data into a ConfigMap",
    ),
    "terms": (
        {"pod": affinity(*[1] * 65)},
        "spec.affinity: has 65 required node selector terms, a managed workload has at most 64; take terms out",
    ),
    "values": (
        {"pod": affinity(1024)},
        (
            "spec.affinity: has 1025 required expressions and values, a managed workload has at most 1024; "
            "use a label that names the set"
        ),
    ),
    "tolerations": (
        {"pod": {"tolerations": [{"key": f"k-{at}", "operator": "Exists"} for at in range(257)]}},
        "spec.tolerations: has 257 tolerations, a managed workload has at most 256; take tolerations out",
    ),
    "containers": (
        {"pod": {"initContainers": [{"name": f"c-{at}", "image": "i"} for at in range(256)]}},
        "spec.containers: has 257 containers, a managed workload has at most 256; take containers out",
    ),
    "claims": (
        {"pod": {"resourceClaims": [{"name": f"c-{at}", "resourceClaimTemplateName": "t"} for at in range(257)]}},
        (
            "spec.resourceClaims: has 257 resource claims, a managed workload has at most 256; "
            "request several devices in one claim"
        ),
    ),
    "resources": (
        {"pod": {"containers": [{"name": "c", "resources": {"requests": MANY}}]}},
        "spec.containers: has 65 different resources, a managed workload has at most 64; request fewer",
    ),
    "node labels": (
        {"pod": {"nodeSelector": {f"l-{at}": "x" for at in range(65)}}},
        ("spec.nodeSelector: has 65 node labels, a managed workload has at most 64; use a label that names the nodes"),
    ),
}


@pytest.mark.parametrize(("spec", "message"), LARGE.values(), ids=LARGE)
def test_oversized_part_is_refused_and_named(spec: dict[str, Any], message: str) -> None:
    found = refusals(judge_job(review(job(**spec, **HELD)), context()))
    assert found == [f"Job 'train' {message} (ObjectTooLarge)"]


def test_part_of_exactly_the_allowed_size_is_accepted() -> None:
    assert judge_job(review(job(pod=affinity(*[1] * 64), **HELD)), context()) == YES


def test_size_of_the_whole_object_is_limited() -> None:
    found = refusals(judge_job(review(job(pod={"schedulerName": "x" * (512 * KIB)}, **HELD)), context()))
    assert len(found) == 1
    assert "a managed workload has at most 524288; move data into a ConfigMap or an image (ObjectTooLarge)" in found[0]


def test_edit_is_refused_only_for_what_it_enlarges() -> None:
    large = job(annotations={"mine": "x" * (200 * KIB)}, **HELD)
    assert judge_job(review(large, large), context()) == YES
    assert judge_job(review(job(annotations={"mine": "x"}, **HELD), large), context()) == YES
    larger = job(annotations={"mine": "x" * (201 * KIB)}, **HELD)
    assert len(refusals(judge_job(review(larger, large), context()))) == 1


def test_unmanaged_job_has_no_size_limit() -> None:
    assert judge_job(review(job(None, annotations={"mine": "x" * (200 * KIB)})), context()) == YES
