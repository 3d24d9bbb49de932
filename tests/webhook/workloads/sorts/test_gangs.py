"""Which Jobs name a PodGroup at their creation: those that ask for a gang, where there is none of their owner's."""

from typing import Any

import pytest

from shared.quota.model.settings import QuotaSettings
from tests.webhook.workloads.review_builders import GROUPS, applied, context, group, job, mutate_job, review

ON = QuotaSettings(gang_scheduling=True)
GANGS = group("gangs", isParent=True, cpu=16, startup={"gang": True})
TREE = (*GROUPS, GANGS, group("ring", "gangs", cpu=8), group("single", "gangs", cpu=8, startup={"gang": False}))
ASKS, REFUSES, BAD = ({"quotree.dev/startup": f'{{"gang": {each}}}'} for each in ("true", "false", "1"))
NAME = "quotree-train-0bfe935e70"
"""The name that a review whose uid is u gives."""
CASES: dict[str, tuple[dict[str, Any], str | None]] = {
    "its group's ancestor says so": (job("ring", parallelism=2, completions=2), NAME),
    "its owner says so": (job("vision", parallelism=2, completions=4, annotations=ASKS), NAME),
    "its owner wins against its group": (job("ring", parallelism=2, completions=2, annotations=REFUSES), None),
    "the nearest group wins": (job("single", parallelism=2, completions=2), None),
    "what cannot be read says nothing": (job("ring", parallelism=2, completions=2, annotations=BAD), NAME),
    "nobody says so": (job("vision", parallelism=2, completions=2), None),
    "one pod": (job("ring", parallelism=4, completions=1), None),
    "another controller makes its pods": (job("ring", parallelism=2, completions=2, managedBy="a.com/b"), None),
    "its owner tells the Job controller": (job("ring", parallelism=2, completions=2, scheduling={}), None),
    "its owner names one": (
        job("ring", parallelism=2, completions=2, pod={"schedulingGroup": {"podGroupName": "own"}}),
        "own",
    ),
}


def named(body: dict[str, Any], **world: Any) -> str | None:
    verdict = mutate_job(review(body), context(groups=TREE, **{"settings": ON, "has_pod_groups": True, **world}))
    found = applied(verdict, body)["spec"]["template"]["spec"].get("schedulingGroup")
    return None if found is None else str(found["podGroupName"])


@pytest.mark.parametrize(("body", "expected"), CASES.values(), ids=CASES)
def test_job_names_a_pod_group(body: dict[str, Any], expected: str | None) -> None:
    assert named(body) == expected


def test_generated_name_is_part_of_that_of_the_pod_group() -> None:
    body = job("ring", parallelism=2, completions=2)
    body["metadata"] |= {"name": "", "generateName": "train-"}
    assert named(body) == NAME


@pytest.mark.parametrize("world", [{"has_pod_groups": False}, {"settings": QuotaSettings()}])
def test_without_the_setting_or_the_api_no_job_names_one(world: dict[str, Any]) -> None:
    assert named(job("ring", parallelism=2, completions=2), **world) is None
