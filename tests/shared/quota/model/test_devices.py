"""What the devices of a pod's claims add to its request, and when it must wait because nobody knows."""

from typing import Any

import pytest

from shared.api.core.job import read_job
from shared.api.core.pod import PodResourceClaim, read_pod_with_claims
from shared.api.core.resource_claim import ClaimDevices
from shared.quota.model.devices.claims import DeviceRef, DeviceSource, refs_of
from shared.quota.model.devices.resources import DeviceResources
from shared.quota.model.namespace_context import NamespaceContext, NamespaceContexts
from shared.quota.model.read.jobs import Reading, workload_of_job
from shared.quota.model.read.pods import workload_of_pod, workload_of_pod_group
from shared.quota.model.settings import QuotaSettings

GPU = "gpu.example.com.deviceclass.resource.k8s.io/devices"
RESOURCES = DeviceResources({"nic.example.com": "example.com/nic"})
SETTINGS = QuotaSettings(devices=RESOURCES)
BY_TEMPLATE = {"name": "a", "resourceClaimTemplateName": "two"}
BY_NAME = {"name": "b", "resourceClaimName": "shared"}


def devices(name: str, *unlimited: str, **classes: int) -> ClaimDevices:
    return ClaimDevices("ns", name, {f"{each}.example.com": count for each, count in classes.items()}, unlimited)


def contexts(*, claims: tuple[ClaimDevices, ...] = (), templates: tuple[ClaimDevices, ...] = ()) -> NamespaceContexts:
    made = NamespaceContexts(RESOURCES)
    made.observe_claims(DeviceSource.CLAIM, [(None, each) for each in claims])
    made.observe_claims(DeviceSource.TEMPLATE, [(None, each) for each in templates])
    return made


def context(**claims: Any) -> NamespaceContext:
    return contexts(**claims).of("ns")


def pod_spec(*claims: dict[str, str], **requests: str) -> dict[str, Any]:
    containers = [{"resources": {"requests": {"cpu": "1", **requests}}}]
    return {"containers": containers, "resourceClaims": list(claims)}


def job(*claims: dict[str, str], pods: int = 2, running: bool = False) -> Reading:
    return read_job_in(context(claims=CLAIMS, templates=TEMPLATES), *claims, pods=pods, running=running)


def read_job_in(around: NamespaceContext, *claims: dict[str, str], pods: int = 2, running: bool = False) -> Reading:
    admission = {"quotree.dev/admission": '{"flavors":{"cpu":"default"},"time":"2026-01-01T00:00:00Z"}'}
    metadata = {"name": "j", "namespace": "ns", "uid": "u", "labels": {"quotree.dev/group": "vision"}}
    body = {
        "metadata": {**metadata, "annotations": admission if running else {}},
        "spec": {
            "suspend": not running,
            "parallelism": pods,
            "completions": pods,
            "template": {"spec": pod_spec(*claims)},
        },
    }
    return workload_of_job(read_job(body), around, SETTINGS)


CLAIMS = (devices("shared", gpu=4),)
TEMPLATES = (devices("two", gpu=2, nic=1), devices("whole", "all-of-them", gpu=32))


@pytest.mark.parametrize(
    ("name", "resource"),
    [("gpu.example.com", GPU), ("nic.example.com", "example.com/nic")],
    ids=["as ResourceQuota calls it", "as the settings call it"],
)
def test_devices_of_a_class_count_as_a_resource(name: str, resource: str) -> None:
    assert RESOURCES.of_class(name) == resource
    assert resource in RESOURCES
    assert "cpu" not in RESOURCES


def test_every_pod_uses_the_devices_of_its_claim_template() -> None:
    found = job(BY_TEMPLATE).workload
    assert found is not None
    assert (dict(found.request), found.hold) == ({"cpu": 2000, GPU: 4, "example.com/nic": 2}, False)


def test_every_pod_that_names_a_claim_counts_the_whole_claim() -> None:
    found = job(BY_NAME, pods=3).workload
    assert found is not None
    assert found.request == {"cpu": 3000, GPU: 12}


def test_container_requests_by_class_name_count_as_devices() -> None:
    around = context(templates=TEMPLATES)
    by_class = {"deviceclass.resource.kubernetes.io/gpu.example.com": "3"}
    metadata = {"name": "p", "namespace": "ns", "labels": {"quotree.dev/group": "vision"}}
    pod = read_pod_with_claims({"metadata": metadata, "spec": pod_spec(BY_TEMPLATE, **by_class)})
    found = workload_of_pod(pod, around, SETTINGS).workload
    assert found is not None
    assert found.request == {"cpu": 1000, GPU: 5, "example.com/nic": 1}


WAITS: dict[str, tuple[dict[str, str], str]] = {
    "no template": (
        {"name": "a", "resourceClaimTemplateName": "absent"},
        "ResourceClaimTemplate absent does not exist in namespace ns; it waits until it is created",
    ),
    "no claim": (
        {"name": "a", "resourceClaimName": "absent"},
        "ResourceClaim absent does not exist in namespace ns; it waits until it is created",
    ),
    "all devices": (
        {"name": "a", "resourceClaimTemplateName": "whole"},
        (
            "ResourceClaimTemplate whole requests all devices of a class (request all-of-them, allocationMode All): "
            "how many it takes is known only once they are allocated; write allocationMode ExactCount and a count"
        ),
    ),
}


@pytest.mark.parametrize(("wanted", "why"), WAITS.values(), ids=WAITS)
def test_workload_with_unknown_devices_waits(wanted: dict[str, str], why: str) -> None:
    reading = job(wanted, BY_TEMPLATE)
    assert reading.workload is not None
    assert (reading.workload.hold, reading.workload.hold_reason, reading.problems) == (True, why, (why,))


def test_running_workload_with_a_deleted_claim_template_still_counts() -> None:
    reading = read_job_in(context(), BY_TEMPLATE, running=True)
    assert reading.workload is not None
    assert (reading.workload.hold, reading.problems, dict(reading.workload.request)) == (False, (), {"cpu": 2000})


def a_pod(name: str, *, made: str = "", group: str = "", claim: dict[str, str] | None = None) -> Any:
    labels = {"quotree.dev/group": "vision"}
    if group:
        labels |= {"quotree.dev/pod-group": group, "quotree.dev/pod-group-size": "2"}
    gates = {"schedulingGates": [{"name": "quotree.dev/admission"}]}
    status = {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": made}]} if made else {}
    body = {
        "metadata": {"name": name, "namespace": "ns", "uid": name, "labels": labels},
        "spec": {**pod_spec(claim or BY_TEMPLATE), **gates},
        "status": status,
    }
    return read_pod_with_claims(body)


@pytest.mark.parametrize(
    ("made", "count"),
    [("", 2), ("unseen", 2), ("mine", 7)],
    ids=["before its claim is made", "before its claim is seen", "as its claim says"],
)
def test_pod_uses_its_own_claim_even_if_the_template_changed(made: str, count: int) -> None:
    around = context(claims=(devices("mine", gpu=7),), templates=(devices("two", gpu=2),))
    found = workload_of_pod(a_pod("p", made=made), around, SETTINGS).workload
    assert found is not None
    assert found.request[GPU] == count


def test_pod_group_waits_for_missing_claim_templates_of_its_pods() -> None:
    absent = {"name": "a", "resourceClaimTemplateName": "absent"}
    members = [a_pod("p1", group="g"), a_pod("p2", group="g", claim=absent)]
    reading = workload_of_pod_group(members, context(templates=TEMPLATES), SETTINGS)
    assert reading.workload is not None
    assert reading.workload.hold
    assert "ResourceClaimTemplate absent does not exist" in reading.workload.hold_reason


def test_namespace_context_follows_its_claims() -> None:
    known = contexts(templates=(devices("two", gpu=2),))
    around = known.of("ns")
    assert around.devices is not None
    wanted = [PodResourceClaim("a", resource_claim_template_name="two")]
    swapped = [(devices("two", gpu=2), None), (None, devices("two", gpu=5))]
    assert known.observe_claims(DeviceSource.TEMPLATE, swapped) == {DeviceRef(DeviceSource.TEMPLATE, "ns", "two")}
    assert around.devices.added_to({}, wanted) == {GPU: 5}
    assert known.of("other").devices is not None
    assert read_job_in(known.of("other"), BY_TEMPLATE).problems != ()


def test_claims_have_no_effect_where_devices_are_not_counted() -> None:
    reading = workload_of_pod(a_pod("p"), NamespaceContexts().of("ns"), QuotaSettings())
    assert reading.workload is not None
    assert (reading.workload.request, reading.workload.hold) == ({"cpu": 1000}, False)


def test_generated_claim_and_template_are_both_used() -> None:
    pod = a_pod("p", made="mine")
    assert refs_of("ns", pod.spec.resource_claims) == [
        DeviceRef(DeviceSource.CLAIM, "ns", "mine"),
        DeviceRef(DeviceSource.TEMPLATE, "ns", "two"),
    ]
