"""Jobs whose pods request devices by ResourceClaims: what the admission webhook refuses of them, and warns of."""

from dataclasses import replace
from typing import Any

import pytest

from shared.api.core.resource_claim import ClaimDevices
from shared.quota.model.devices.claims import DeviceSource
from shared.quota.model.devices.resources import DeviceResources
from shared.quota.model.namespace_context import NamespaceContexts
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Group
from tests.webhook.workloads.review_builders import (
    admitted,
    applied,
    codes,
    context,
    group,
    job,
    judge_job,
    mutate_job,
    refusals,
    review,
)
from webhook.verdicts import Allow
from webhook.workloads.review_context import ReviewContext

GPU = "gpu.deviceclass.resource.k8s.io/devices"
LIMITS = {"cpu": 8, GPU: 4}
GROUPS = (group("vision", quotas=[{"flavor": "a100", "min": LIMITS, "max": LIMITS}]), group("bare", cpu=8))
TEMPLATES = (
    ClaimDevices("team-a", "two", {"gpu": 2}),
    ClaimDevices("team-a", "five", {"gpu": 5}),
    ClaimDevices("team-a", "whole", {"gpu": 32}, ("every",)),
)


def judged_in(*templates: ClaimDevices, groups: tuple[Group, ...] = GROUPS) -> ReviewContext:
    """A world in which devices are counted and these templates exist."""
    devices = DeviceResources()
    contexts = NamespaceContexts(devices)
    contexts.observe_claims(DeviceSource.TEMPLATE, [(None, each) for each in templates])
    made = context(groups=groups, settings=QuotaSettings(devices=devices))
    return replace(made, namespace=contexts.of("team-a"))


def wants(template: str, group_name: str = "vision", pods: int = 1, **more: Any) -> dict[str, Any]:
    claims = [{"name": "a", "resourceClaimTemplateName": template}]
    return job(group_name, pod={"resourceClaims": claims}, parallelism=pods, completions=pods, **more)


def runs(template: str, pods: int) -> dict[str, Any]:
    status = {"startTime": "2026-03-01T12:00:00Z", "active": pods}
    return wants(template, pods=pods, annotations=admitted("a100"), status=status)


def warnings(body: dict[str, Any]) -> list[str]:
    verdict = judge_job(review({**body, "spec": {**body["spec"], "suspend": True}}), judged_in(*TEMPLATES))
    assert isinstance(verdict, Allow)
    return [text.rpartition("(")[2].rstrip(")") for text in verdict.warnings]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (wants("two"), []),
        (wants("five"), ["NeverFits"]),
        (wants("two", pods=3), ["NeverFits"]),
        (wants("two", "bare"), ["ResourceNotCovered"]),
        (wants("absent"), []),
    ],
    ids=["fits", "too many", "too many together", "a group without quota of them", "a template that may follow"],
)
def test_devices_are_checked_like_any_request(body: dict[str, Any], expected: list[str]) -> None:
    assert warnings(body) == expected


def test_claim_for_all_devices_of_a_class_is_refused() -> None:
    new = wants("whole", suspend=True)
    (refusal,) = refusals(judge_job(review(new), judged_in(*TEMPLATES)))
    assert refusal == (
        "Job 'train' spec.template.spec.resourceClaims: ResourceClaimTemplate whole requests all devices of a class "
        "(request every, allocationMode All): how many it takes is known only once they are allocated; write "
        "allocationMode ExactCount and a count (DevicesUncountable)"
    )


@pytest.mark.parametrize("template", ["two", "absent"], ids=["that is known", "that was deleted meanwhile"])
def test_running_job_with_a_claim_template_cannot_grow(template: str) -> None:
    edit = review(runs(template, 2), runs(template, 1))
    assert codes(judge_job(edit, judged_in(*TEMPLATES))) == ["GrowthWhileRunning"]
    fewer = review(runs(template, 1), runs(template, 2))
    assert codes(judge_job(fewer, judged_in(*TEMPLATES))) == []


def test_injection_at_creation_depends_on_the_job_alone() -> None:
    """Another replica might not have seen the template yet."""
    apart = group("apart", quotas=[{"flavor": "t4", "max": {"cpu": 8}}, {"flavor": "a100", "max": {GPU: 4}}])
    new = wants("two", "apart", suspend=True)
    found = [
        applied(mutate_job(review(new), judged_in(*templates, groups=(apart,))), new) for templates in (TEMPLATES, ())
    ]
    assert found[0] == found[1]
    assert found[0]["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "t4"}


def test_device_claims_are_ignored_where_not_counted() -> None:
    verdict = judge_job(review(wants("whole", suspend=True)), context(groups=GROUPS))
    assert isinstance(verdict, Allow)
    assert verdict.warnings == ()
