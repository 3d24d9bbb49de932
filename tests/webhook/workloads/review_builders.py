"""A tree of groups, Jobs and pods as the API server would send them, and what becomes of them, for tests of judges."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import jsonpatch

from shared.api.annotations import AdmissionAnnotation, write_annotation
from shared.api.names import ADMISSION
from shared.api.review import Review, read_review
from shared.quota.model.flavor import Flavor
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.groups import read_flavor_manifest, read_group_manifest
from shared.quota.model.rules.workloads.submitted_workload import NeverFits, WorkloadContext
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Group, Tree
from webhook.verdicts import Allow, Deny, Verdict
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.reviews import judge, mutate
from webhook.workloads.sorts.job import JOB
from webhook.workloads.sorts.pod import POD

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HELD: Any = {"suspend": True}
RECONCILER = "system:serviceaccount:quotree-system:quotree-reconciler"
PERSON = "alice"

mutate_job, judge_job = partial(mutate, JOB), partial(judge, JOB)
mutate_pod, judge_pod = partial(mutate, POD), partial(judge, POD)

A100 = {
    "metadata": {"name": "a100"},
    "spec": {
        "nodeLabels": {"gpu": "a100"},
        "nodeTaints": [{"key": "gpu", "value": "true", "effect": "NoSchedule"}],
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
    },
}
T4 = {"metadata": {"name": "t4"}, "spec": {"nodeLabels": {"gpu": "t4"}}}


def group(name: str, parent: str | None = None, **spec: Any) -> Group:
    """A group; `cpu=8` and such is its min and max of flavor a100."""
    if "cpu" in spec:
        cpu = spec.pop("cpu")
        spec["quotas"] = [{"flavor": "a100", "min": {"cpu": cpu}, "max": {"cpu": cpu}}]
    return read_group_manifest({"metadata": {"name": name}, "spec": {**({"parent": parent} if parent else {}), **spec}})


GROUPS = (
    group("research", isParent=True, cpu=16),
    group("vision", "research", cpu=8),
    group(
        "nlp",
        "research",
        quotas=[
            {"flavor": "a100", "min": {"cpu": 4}, "max": {"cpu": 8}},
            {"flavor": "t4", "min": {"cpu": 4}, "max": {"cpu": 100}},
        ],
    ),
    group("attic", isParent=True, stopPolicy="Close", cpu=8),
    group("old", "attic", cpu=8),
    group("paused", stopPolicy="Hold", cpu=8),
    group("own", cpu=8, namespaceSelector={"matchLabels": {"team": "own"}}),
    group("system"),
    group("orphan", "absent", cpu=8),
)


def context(
    *,
    namespace: Mapping[str, str] | None = None,
    groups: tuple[Group, ...] = GROUPS,
    flavors: tuple[Any, ...] = (A100, T4),
    never_fits: NeverFits = NeverFits.WARN,
    settings: QuotaSettings | None = None,
    job_group: Callable[[str], str | None] = lambda _uid: None,
    capacity: Any = None,
    **more: Any,
) -> ReviewContext:
    """The world a review is judged in."""
    known: dict[str, Flavor] = {each["metadata"]["name"]: read_flavor_manifest(each) for each in flavors}
    context = WorkloadContext(Tree.of(groups), known, capacity, settings or QuotaSettings(), never_fits)
    return ReviewContext(context, NamespaceContext(dict(namespace or {})), RECONCILER, job_group, now=NOON, **more)


def job(
    group_name: str | None = "vision",
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    status: Mapping[str, Any] | None = None,
    pod: Mapping[str, Any] | None = None,
    template_notes: Mapping[str, str] | None = None,
    cpu: Any = 2,
    **spec: Any,
) -> dict[str, Any]:
    """A Job as the API server would send it."""
    metadata: dict[str, Any] = {"name": "train", "namespace": "team-a"}
    wanted = {**({} if group_name is None else {"quotree.dev/group": group_name}), **(labels or {})}
    if wanted:
        metadata["labels"] = wanted
    if annotations:
        metadata["annotations"] = dict(annotations)
    template = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}], **(pod or {})}
    noted = {"metadata": {"annotations": dict(template_notes)}} if template_notes else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"suspend": False, "parallelism": 1, "completions": 1, **spec, "template": {**noted, "spec": template}},
        "status": dict(status or {}),
    }


def plain_pod(
    group_name: str | None = "vision",
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owners: list[dict[str, Any]] | None = None,
    finalizers: list[str] | None = None,
    cpu: Any = 2,
    **spec: Any,
) -> dict[str, Any]:
    """A pod as the API server would send it."""
    made = job(group_name, labels=labels, annotations=annotations, cpu=cpu)
    metadata = {**made["metadata"], **({"ownerReferences": owners} if owners else {})}
    if finalizers:
        metadata["finalizers"] = finalizers
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**made["spec"]["template"]["spec"], **spec},
        "status": {"phase": "Pending"},
    }


def deleting(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same object under deletion."""
    return {**body, "metadata": {**body["metadata"], "deletionTimestamp": "2026-03-01T12:00:00Z"}}


def admitted(flavor: str) -> dict[str, str]:
    """The annotation of work that got its cpu in this flavor."""
    return {ADMISSION: write_annotation(AdmissionAnnotation(flavors={"cpu": flavor}, time=NOON))}


def review(
    after: Mapping[str, Any] | None, before: Mapping[str, Any] | None = None, user: str = PERSON, **request: Any
) -> Review:
    """The question the API server asks about it."""
    body = after or before or {}
    group_name, _, version = str(body["apiVersion"]).rpartition("/")
    operation = "CREATE" if before is None else "UPDATE" if after is not None else "DELETE"
    asked = {
        "uid": "u",
        "kind": {"group": group_name, "version": version, "kind": body["kind"]},
        "operation": operation,
        "namespace": "team-a",
        "name": body["metadata"]["name"],
        "userInfo": {"username": user},
        "object": after,
        "oldObject": before,
        **request,
    }
    whole = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    return read_review(json.dumps(whole).encode())


def applied(verdict: Verdict, after: Mapping[str, Any]) -> dict[str, Any]:
    """The object with the verdict's patch applied, by the reference library."""
    assert isinstance(verdict, Allow), verdict
    patched: dict[str, Any] = jsonpatch.apply_patch(json.loads(json.dumps(after)), list(verdict.operations))
    return patched


def refusals(verdict: Verdict) -> list[str]:
    """The sentences of a no; none for a yes."""
    return verdict.message.split("\n") if isinstance(verdict, Deny) else []


def codes(verdict: Verdict) -> list[str]:
    """The codes of a no; none for a yes."""
    return [each.rule for each in verdict.violations] if isinstance(verdict, Deny) else []
