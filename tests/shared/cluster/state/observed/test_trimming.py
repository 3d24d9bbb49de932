"""Records stay small whatever owners write, and decide the same for all that ordinary objects say."""

from typing import Any

import msgspec
import pytest

from shared.api.core.job import Job
from shared.api.core.placement import read_placement
from shared.api.names import GROUP_LABEL
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.projections import project_job, project_pod
from shared.cluster.state.observed.trimming import MAX_PLACEMENT
from shared.kube.watch.cache import Changed
from shared.quota.model.eligibility import affinity_agrees
from tests.reconciler.reconciler_process import job_manifest
from tests.shared.cluster.state.objects import work


def required(terms: int, values: int = 1) -> dict[str, Any]:
    expressions = [{"key": f"k{term}", "operator": "In", "values": ["x" * 9] * values} for term in range(terms)]
    found = {"nodeSelectorTerms": [{"matchExpressions": [each]} for each in expressions]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": found}}


def job(pod: dict[str, Any] | None = None, **metadata: Any) -> Job:
    manifest = job_manifest("a", "vision", "1", pod=pod)
    manifest["metadata"] |= {"uid": "u1", "namespace": "ns", **metadata}
    record = project_job(msgspec.json.encode(manifest))
    assert isinstance(record, Job)
    return record


def test_dropped_labels_and_annotations_leave_one_empty_entry() -> None:
    labels = {GROUP_LABEL: "vision", **{f"l{number}": "x" for number in range(500)}}
    found = job(labels=labels, annotations={"a": "y" * 200_000, "b": "z"}).metadata
    assert found.labels == {GROUP_LABEL: "vision", "l0": ""}
    assert found.annotations == {"a": ""}
    assert job().metadata.annotations == {}


def test_waiting_jobs_share_what_they_say_alike() -> None:
    suspended = {"type": "Suspended", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    found = []
    for name in ("a", "b"):
        manifest = job_manifest(name, "vision", "1") | {"status": {"conditions": [suspended], "ready": 0}}
        manifest["metadata"] |= {"uid": name, "namespace": "ns"}
        found.append(project_job(msgspec.json.encode(manifest)))
    first, second = found
    assert isinstance(first, Job)
    assert isinstance(second, Job)
    assert first.metadata.labels == {GROUP_LABEL: "vision"}
    assert first.metadata.labels is second.metadata.labels
    assert first.metadata.namespace is second.metadata.namespace
    assert first.spec is second.spec
    assert first.status is second.status
    assert (first.metadata.uid, second.metadata.uid) == ("a", "b")


def test_labels_by_which_others_hold_it_are_kept() -> None:
    labels = {GROUP_LABEL: "vision", "hold.quotree.dev/scan": "true", "app": "x"}
    assert job(labels=labels).metadata.labels == {**labels, "app": ""}


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param({"affinity": required(MAX_PLACEMENT)}, id="many terms"),
        pytest.param({"affinity": required(2, MAX_PLACEMENT)}, id="many values"),
        pytest.param({"affinity": required(20, 1000)}, id="cut before it is decoded"),
        pytest.param({"nodeSelector": {f"k{number}": "v" for number in range(MAX_PLACEMENT + 1)}}, id="node labels"),
        pytest.param({"tolerations": [{"key": f"k{number}"} for number in range(MAX_PLACEMENT + 1)]}, id="tolerations"),
    ],
)
def test_oversized_placement_matches_no_flavor(pod: dict[str, Any]) -> None:
    spec = job(pod).spec.template.spec
    assert not affinity_agrees(read_placement(spec), {})
    assert len(msgspec.json.encode(spec)) < 1000


def test_normal_placement_is_kept() -> None:
    spec = job({"affinity": required(3), "nodeSelector": {"zone": "a"}}).spec.template.spec
    assert read_placement(spec).node_selector == {"zone": "a"}
    assert len(read_placement(spec).affinity or ()) == 3


def test_pod_is_trimmed_like_a_job() -> None:
    spec = {"containers": [{"resources": {"requests": {"cpu": "1"}}}], "affinity": required(20, 1000)}
    record = project_pod(msgspec.json.encode({"metadata": {"uid": "p", "name": "p", "namespace": "ns"}, "spec": spec}))
    assert record is not None
    assert record.work is not None
    assert read_placement(record.work.spec).affinity == ()


def test_of_too_many_resources_some_are_kept_and_no_flavor_is_eligible() -> None:
    many = {"cpu": "1", **{f"example.com/r{number:04}": "1" for number in range(6000)}}
    container = {"name": "c", "image": "none", "resources": {"requests": many, "limits": many}}
    spec = job({"containers": [container], "resources": {"requests": many}}).spec.template.spec
    (kept,) = [each.resources for each in spec.containers]
    assert (len(kept.requests), len(kept.limits), str(kept.requests["cpu"])) == (64, 64, "1")
    assert spec.resources is not None
    assert kept.requests.keys() == spec.resources.requests.keys()
    assert not affinity_agrees(read_placement(spec), {})
    few = dict(list(many.items())[:64])
    whole = job({"containers": [{**container, "resources": {"requests": few}}]}).spec.template.spec
    assert len(whole.containers[0].resources.requests) == 64
    assert affinity_agrees(read_placement(whole), {})


def test_what_is_too_large_to_be_read_is_not_started(state: ClusterState) -> None:
    """Also where it asks for nothing, so that it needs no flavor."""
    nothing = {f"example.com/r{number:04}": "0" for number in range(65)}
    manifest = job_manifest("a", "vision")
    manifest["metadata"] |= {"uid": "u1", "namespace": "ns", "creationTimestamp": "2026-01-01T00:00:00Z"}
    for named, is_held in ((dict(list(nothing.items())[:64]), False), (nothing, True)):
        manifest["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": named}
        record = project_job(msgspec.json.encode(manifest))
        assert isinstance(record, Job)
        state.observe_jobs([Changed(None, record)])
        assert [each.hold for each in work(state)] == [is_held]
