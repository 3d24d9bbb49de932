"""Objects of governed kinds as workloads: request, pod sets, state, and what counts while they run and stop."""

from typing import Any

import pytest

from shared.api.core.namespace import read_namespace
from shared.api.core.resource_claim import ClaimDevices
from shared.quota.model.devices.claims import DeviceSource
from shared.quota.model.devices.resources import DeviceResources
from shared.quota.model.namespace_context import NamespaceContext, NamespaceContexts
from shared.quota.model.read.jobs import ObjectState, Reading
from shared.quota.model.read.kind_objects import NO_PODS, PodsBySet, SeenPods, workload_of_kind
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import EvictionReason
from tests.shared.kinds.objects import jobset, metadata, pytorchjob, read, replicated, template

IN_VISION = NamespaceContext(namespace_labels={"quotree.dev/group": "vision"})
ADMITTED = '{"podSets":{"driver":{"cpu":"std"},"workers":{"cpu":"a100"}},"time":"2026-01-01T00:00:00Z"}'
EVICTED = '{"reason":"Reclaimed","time":"2026-01-01T00:00:00Z","podSets":{"driver":{"cpu":"std"}}}'


def two(*, suspend: bool = False, stopped: bool | None = None, **annotations: str) -> dict[str, Any]:
    """`stopped`: whether its operator has seen that it is; absent: as it is."""
    written = jobset(replicated("driver", "1"), replicated("workers", "2", replicas=3), suspend=suspend)
    own = {f"quotree.dev/{name}": text for name, text in annotations.items()}
    status = {"conditions": [{"type": "Suspended", "status": str(suspend if stopped is None else stopped)}]}
    return written | {"metadata": metadata(annotations=own), "status": status}


def reading(written: dict[str, Any], pods: PodsBySet = NO_PODS, around: NamespaceContext = IN_VISION) -> Reading:
    return workload_of_kind(read(written), around, QuotaSettings(), pods)


def seen(present: int, cpu: int, ready: int = 0) -> SeenPods:
    return SeenPods(present, ready, {"cpu": cpu * 1000} if cpu else {})


def test_pending_jobset_is_read() -> None:
    found = reading(two(suspend=True))
    workload = found.workload
    assert workload is not None
    assert (found.state, workload.kind, workload.key, workload.group) == (
        ObjectState.PENDING, "JobSet", "ns/train", "vision",
    )  # fmt: skip
    assert workload.request == {"cpu": 7000}
    assert [(each.name, each.request, each.pods) for each in workload.pod_sets] == [
        ("driver", {"cpu": 1000}, 1),
        ("workers", {"cpu": 6000}, 3),
    ]
    assert not workload.hold


@pytest.mark.parametrize(
    ("written", "state"),
    [
        (two(suspend=True), ObjectState.FINISHED),
        (two(admission=ADMITTED), ObjectState.RUNNING),
    ],
    ids=["waits", "runs"],
)
def test_deleted_object_with_pods_counts_if_it_was_started(written: dict[str, Any], state: ObjectState) -> None:
    written["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:09Z"
    assert reading(written, {"workers": seen(1, 2)}).state is state


def test_pods_of_an_object_without_pod_sets_are_not_counted() -> None:
    written = jobset(suspend=False) | {"metadata": metadata(annotations={"quotree.dev/admission": ADMITTED})}
    workload = reading(written, {"workers": seen(2, 4)}).workload
    assert workload is not None
    assert workload.request == {}


def test_pods_of_a_set_that_is_gone_count_in_the_first_and_leave_the_others_as_they_are() -> None:
    pods = {"driver": seen(1, 1), "workers": seen(5, 10), "gone": seen(2, 3)}
    workload = reading(two(admission=ADMITTED), pods).workload
    assert workload is not None
    assert [(each.name, each.request) for each in workload.pod_sets] == [
        ("driver", {"cpu": 4000}),
        ("workers", {"cpu": 10000}),
    ]


def test_object_with_one_pod_set_is_read_like_a_job() -> None:
    pods = template("2", nodeSelector={"gpu": "a100", "zone": "z"})
    written = pytorchjob(Worker={"replicas": 4, "template": pods})
    written["metadata"]["annotations"] = {"quotree.dev/injected": '{"nodeSelector":{"gpu":"a100"}}'}
    workload = reading(written).workload
    assert workload is not None
    assert (workload.pod_sets, workload.pods, workload.request) == ((), 4, {"cpu": 8000})
    assert workload.placement.node_selector == {"zone": "z"}


def test_pod_set_without_pods_is_left_out() -> None:
    workload = reading(jobset(replicated("driver"), replicated("workers", replicas=0))).workload
    assert workload is not None
    assert [each.name for each in workload.pod_sets] == ["driver"]


def test_object_without_pods_requests_nothing() -> None:
    workload = reading(jobset(suspend=True)).workload
    assert workload is not None
    assert (workload.request, workload.pods) == ({}, 0)


@pytest.mark.parametrize(
    ("written", "pods", "state", "request_"),
    [
        (two(), {}, ObjectState.ADOPTED, 7000),
        (two(admission=ADMITTED), {}, ObjectState.RUNNING, 7000),
        (two(admission=ADMITTED), {"workers": seen(1, 2)}, ObjectState.RUNNING, 7000),
        (two(admission=ADMITTED), {"workers": seen(5, 10)}, ObjectState.RUNNING, 11000),
        (two(admission=ADMITTED), {"strange": seen(3, 3)}, ObjectState.RUNNING, 9000),
        (two(suspend=True, admission=ADMITTED), {}, ObjectState.PENDING, 7000),
        (two(suspend=True, admission=ADMITTED), {"workers": seen(1, 2)}, ObjectState.EVICTING, 2000),
        (two(suspend=True, eviction=EVICTED), {"workers": seen(2, 4)}, ObjectState.EVICTING, 4000),
        (two(suspend=True, eviction=EVICTED), {}, ObjectState.PENDING, 7000),
        (two(suspend=True), {"workers": seen(2, 4)}, ObjectState.PENDING, 7000),
        (two(suspend=True, stopped=False), {}, ObjectState.PENDING, 7000),
        (two(suspend=True, stopped=False, admission=ADMITTED), {}, ObjectState.EVICTING, 7000),
        (two(suspend=True, stopped=False, eviction=EVICTED), {"workers": seen(1, 2)}, ObjectState.EVICTING, 7000),
        (two(suspend=True, stopped=False, eviction=EVICTED), {}, ObjectState.EVICTING, 7000),
    ],
)
def test_counted_pods_depend_on_the_state(
    written: dict[str, Any], pods: PodsBySet, state: ObjectState, request_: int
) -> None:
    found = reading(written, pods)
    assert found.workload is not None
    assert (found.state, found.workload.request) == (state, {"cpu": request_})
    assert sum(each.request.get("cpu", 0) for each in found.workload.pod_sets) == request_


DONE = {"status": {"conditions": [{"type": "Completed", "status": "True"}]}}


def test_object_is_finished_when_its_last_pod_has_ended() -> None:
    assert reading(two(admission=ADMITTED) | DONE).state is ObjectState.FINISHED
    assert reading(two(admission=ADMITTED) | DONE, {"driver": seen(0, 0, ready=1)}).state is ObjectState.FINISHED
    found = reading(two(admission=ADMITTED) | DONE, {"driver": seen(1, 1)})
    assert found.workload is not None
    assert (found.state, found.workload.request) == (ObjectState.RUNNING, {"cpu": 1000})


def test_stopped_object_of_a_kind_without_status_counts_its_pods() -> None:
    spec = {"suspend": True, "headGroupSpec": {"template": template("2")}, "workerGroupSpecs": []}
    annotations = {"quotree.dev/eviction": EVICTED}
    written = {"kind": "RayCluster", "metadata": metadata(annotations=annotations), "spec": spec}
    assert reading(written).state is ObjectState.PENDING
    assert reading(written, {"head": seen(1, 1)}).state is ObjectState.EVICTING


@pytest.mark.parametrize(
    ("suspend", "grows", "expected"),
    [(True, True, True), (False, True, False), (True, False, False)],
    ids=["waits", "runs already", "nothing to refuse"],
)
def test_object_that_cannot_be_governed_is_held_only_before_its_start(
    *, suspend: bool, grows: bool, expected: bool
) -> None:
    spec = {"suspend": suspend, "enableInTreeAutoscaling": grows, "headGroupSpec": {"template": template("2")}}
    annotations = {} if suspend else {"quotree.dev/admission": ADMITTED}
    written = {"kind": "RayCluster", "metadata": metadata(annotations=annotations), "spec": spec}
    workload = reading(written).workload
    assert workload is not None
    assert (workload.hold, "Ray's autoscaler" in workload.hold_reason) == (expected, expected)


def test_object_deleted_before_its_start_is_finished() -> None:
    written = two(suspend=True)
    written["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert reading(written).state is ObjectState.FINISHED


def test_flavors_and_readiness_of_an_admission() -> None:
    ready = {"driver": seen(1, 1, ready=1), "workers": seen(3, 6, ready=3)}
    workload = reading(two(admission=ADMITTED), ready).workload
    assert workload is not None
    assert workload.admission is not None
    assert workload.admission.flavors == {"driver": {"cpu": "std"}, "workers": {"cpu": "a100"}}
    assert workload.admission.ready
    less = reading(two(admission=ADMITTED), ready | {"workers": seen(3, 6, ready=2)}).workload
    assert less is not None
    assert less.admission is not None
    assert not less.admission.ready


def test_object_suspended_by_its_owner_is_evicting_until_its_pods_have_ended() -> None:
    workload = reading(two(suspend=True, admission=ADMITTED), {"driver": seen(1, 1)}).workload
    assert workload is not None
    assert workload.eviction is not None
    assert workload.eviction.reason is EvictionReason.SUSPENDED


def test_priority_is_of_the_first_pod_set_that_has_one() -> None:
    written = jobset(replicated("a"), replicated("b"), replicated("c"))
    for job, value in zip(written["spec"]["replicatedJobs"][1:], (5, 9), strict=True):
        job["template"]["spec"]["template"]["spec"]["priority"] = value
    workload = reading(written).workload
    assert workload is not None
    assert workload.priority == 5


def test_object_without_a_group_is_not_managed() -> None:
    assert reading(two(), around=NamespaceContext()).state is ObjectState.UNMANAGED


def test_unreadable_object_is_no_workload() -> None:
    found = reading(jobset(replicated("a", replicas=-1)))
    assert found.workload is None
    assert "replicas is -1" in found.problems[0]


def test_invalid_quantity_is_a_problem() -> None:
    found = reading(jobset(replicated("a", "much")))
    assert found.workload is None
    assert "much" in found.problems[0]


GPU = "gpu.deviceclass.resource.k8s.io/devices"


def test_each_pod_set_uses_the_devices_of_its_claim_templates_and_waits_for_all_of_them() -> None:
    workers = replicated("workers", "2", replicas=3)
    claims = [{"name": "a", "resourceClaimTemplateName": "two"}]
    workers["template"]["spec"]["template"]["spec"]["resourceClaims"] = claims
    written = jobset(replicated("driver", "1"), workers, suspend=True)
    devices = DeviceResources()
    contexts, settings = NamespaceContexts(devices), QuotaSettings(devices=devices)
    namespace = read_namespace({"metadata": {"name": "ns", "labels": IN_VISION.namespace_labels}})
    contexts.observe_namespaces([(None, namespace)])
    waiting = workload_of_kind(read(written), contexts.of("ns"), settings).workload
    assert waiting is not None
    assert "ResourceClaimTemplate two does not exist in namespace ns" in waiting.hold_reason
    contexts.observe_claims(DeviceSource.TEMPLATE, [(None, ClaimDevices("ns", "two", {"gpu": 2}))])
    known = workload_of_kind(read(written), contexts.of("ns"), settings).workload
    assert known is not None
    assert (known.hold, [each.request.get(GPU, 0) for each in known.pod_sets]) == (False, [0, 6])
