"""The kept part of governed objects and of their operators' objects, and how operators are recognised."""

from typing import Any, cast

import msgspec
import pytest

from shared.api.core.metadata import OwnerReference
from shared.api.names import GROUP_LABEL, UNIT_LABEL
from shared.kinds.kind import Kind, Kinds, compile_kind
from shared.kube.client import Client
from shared.kube.watch.watches import Watches
from shared.quota.model.rules import GroupWorkloads
from tests.shared.kinds.objects import entry, jobset, metadata, preset, replicated
from webhook.workloads.owner_cache import WorkloadRecord, child_record, kind_record, made_resources
from webhook.workloads.workload_cache import WatchedWorkloads, job_record

JOBSET = preset("JobSet")
OWNER = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "train", "uid": "u1", "controller": True}
RAYJOB = """
apiVersion: ray.io/v1
kind: RayJob
resource: rayjobs
suspend: .spec.suspend
podSets: [{name: head, template: .spec.head}]
operators: [ray]
children:
- {apiVersion: ray.io/v1, kind: RayCluster, resource: rayclusters}
- {apiVersion: batch/v1, kind: Job, resource: jobs}
- {apiVersion: v1, kind: Pod, resource: pods}
"""


def encoded(body: dict[str, Any]) -> bytes:
    return msgspec.json.encode(body)


def written(*, suspend: bool, status: Any = None, **about: Any) -> bytes:
    body = jobset(replicated("driver"), suspend=suspend)
    return encoded({**body, "metadata": metadata(**about), "status": status or {}})


@pytest.mark.parametrize(
    ("raw", "record"),
    [
        (written(suspend=True), WorkloadRecord("uid-train", "ns", "", runs=False, over=False)),
        (written(suspend=False), WorkloadRecord("uid-train", "ns", "", runs=True, over=False)),
        (
            written(suspend=False, status={"conditions": [{"type": "Failed", "status": "True"}]}),
            WorkloadRecord("uid-train", "ns", "", runs=True, over=True),
        ),
        (
            written(suspend=True, labels={GROUP_LABEL: "nlp", UNIT_LABEL: "u1"}),
            WorkloadRecord("uid-train", "ns", "nlp", runs=False, over=False, unit="u1"),
        ),
    ],
    ids=["held", "runs", "finished", "made for another"],
)
def test_owner_cache_keeps_only_needed_fields(raw: bytes, record: WorkloadRecord) -> None:
    assert kind_record(JOBSET)(raw) == record


def test_job_has_its_foreign_owner_until_it_has_an_object_label() -> None:
    body = {"metadata": metadata(ownerReferences=[OWNER]), "spec": {"suspend": True}}
    found = job_record(encoded(body)).owner
    assert found is not None
    assert (found.kind, found.uid) == ("JobSet", "u1")
    labelled = {**body, "metadata": metadata(ownerReferences=[OWNER], labels={UNIT_LABEL: "u1"})}
    assert job_record(encoded(labelled)).owner is None
    own = [{**OWNER, "apiVersion": "batch/v1", "kind": "CronJob"}]
    assert job_record(encoded({**body, "metadata": metadata(ownerReferences=own)})).owner is None


def test_other_kinds_are_kept_only_if_created_by_an_operator() -> None:
    assert child_record(encoded({"metadata": metadata()})) is None
    made = child_record(encoded({"metadata": metadata(labels={UNIT_LABEL: "u1"})}))
    assert made == WorkloadRecord("uid-train", "ns", "", runs=True, over=False, unit="u1")


def kinds(*found: Kind) -> Kinds:
    return Kinds.of(found)


def test_governed_child_kinds_are_watched_once() -> None:
    rayjob = compile_kind(entry(RAYJOB))
    assert [each.plural for each in made_resources(kinds(rayjob, JOBSET))] == ["rayclusters"]
    cluster = preset("RayCluster")
    assert made_resources(kinds(rayjob, cluster)) == []
    watches = Watches()
    it = WatchedWorkloads(cast("Client", None), watches, default_group=False, kinds=kinds(rayjob, JOBSET))
    names = [each.name for each in watches.members]
    assert names[-3:] == ["rayjobs.ray.io", "jobsets.jobset.x-k8s.io", "rayclusters.ray.io"]
    made = OwnerReference(kind="RayCluster", api_version="ray.io/v1alpha1")
    assert [it.owners.is_operator(made, user) for user in ("ray", "alice")] == [True, False]
    assert not it.owners.is_operator(OwnerReference(kind="Job", api_version="batch/v1"), "ray")


def test_no_further_kind_is_watched_without_governed_kinds() -> None:
    watches = Watches()
    assert not WatchedWorkloads(cast("Client", None), watches, default_group=False).owners
    assert "jobsets.jobset.x-k8s.io" not in [each.name for each in watches.members]


def test_objects_of_governed_kinds_are_workloads_of_their_group() -> None:
    """So that the group is neither deleted nor made a parent."""
    watches = Watches()
    it = WatchedWorkloads(cast("Client", None), watches, default_group=False, kinds=kinds(JOBSET))
    (watch,) = [each for each in watches.members if each.resource.plural == "jobsets"]
    watch._tell([watch._cache.put(written(suspend=True, labels={GROUP_LABEL: "nlp"}))[1]])  # type: ignore[list-item]
    assert it.of_group("nlp") == GroupWorkloads(pending=1)
