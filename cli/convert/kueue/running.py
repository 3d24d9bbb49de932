"""The way back to Kueue: an admitted Workload for each Job that Quotree runs.

Kueue suspends a Job that runs without an admitted Workload of its own. With these in place before Kueue starts, it
counts what runs and lets it go on; Jobs that wait get their Workloads from Kueue itself. Kueue compares the containers
and the number of pods of both, so the template here is the Job's own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cli.convert.conversion import Conversion, read_object, where
from cli.convert.kueue.flavors import convert_flavors
from cli.convert.kueue.objects import (
    ResourceGroupView,
    read_cluster_queue,
    read_local_queue,
    read_workload_priority_class,
)
from cli.convert.kueue.workloads import MAX_EXEC_TIME, PRIORITY_LABEL
from cli.read.manifests import Manifest
from shared.api.annotations import AdmissionAnnotation, BadAnnotation, read_admission
from shared.api.core.job import Job, read_job
from shared.api.core.pod_request import effective_request
from shared.api.json.reading import write_moment
from shared.api.names import GROUP_LABEL, KUEUE_QUEUE_LABEL, MAIN_POD_SET, POD_COUNT
from shared.problems import Problem
from shared.resources import QuantityError, write_quantity

_KUEUE: Final = "kueue.x-k8s.io"
_VERSION: Final = f"{_KUEUE}/v1beta2"
_MOST_OF_NAME: Final = 52


def workloads_of_running(manifests: Sequence[Manifest], made: Conversion) -> list[dict[str, Any]]:
    """Return a Workload for each running Job with a queue, and note each for which there can be none.

    Raises Problem for an object that cannot be read.
    """
    queues = _read_queues(manifests)
    found = (_workload(each, queues, made) for each in manifests if _is_job(each))
    return [each for each in found if each is not None]


@dataclass(frozen=True, slots=True)
class _Queues:
    """What Kueue's objects say, as far as Workloads need it."""

    names: Mapping[tuple[str, str], str]
    """(namespace, LocalQueue) -> ClusterQueue."""
    quotas: Mapping[str, Sequence[ResourceGroupView]]
    """ClusterQueue -> its resource groups."""
    flavors: Mapping[str, str]
    """Flavor of Quotree -> flavor of Kueue, where the names differ."""
    priorities: Mapping[tuple[str, str], int]
    """(kind, name) -> value, of WorkloadPriorityClasses and PriorityClasses."""


def _read_queues(manifests: Iterable[Manifest]) -> _Queues:
    of_kind: dict[str, list[Manifest]] = {}
    for each in manifests:
        if each.api_version.startswith((f"{_KUEUE}/", "scheduling.k8s.io/")):
            of_kind.setdefault(each.kind, []).append(each)
    # Its notes are about the way to Quotree.
    renamed = convert_flavors(of_kind.get("ResourceFlavor", ()), Conversion())
    classes = (*of_kind.get("WorkloadPriorityClass", ()), *of_kind.get("PriorityClass", ()))
    return _Queues(
        {
            (each.namespace or "default", each.name): read_object(read_local_queue, each).spec.cluster_queue
            for each in of_kind.get("LocalQueue", ())
        },
        {
            each.name: read_object(read_cluster_queue, each).spec.resource_groups
            for each in of_kind.get("ClusterQueue", ())
        },
        {ours: theirs for theirs, ours in renamed.items()},
        {(each.kind, each.name): read_object(read_workload_priority_class, each).value for each in classes},
    )


def _is_job(manifest: Manifest) -> bool:
    return manifest.kind == "Job" and manifest.api_version.startswith("batch/")


def _workload(manifest: Manifest, queues: _Queues, made: Conversion) -> dict[str, Any] | None:
    job = read_object(read_job, manifest)
    if job.spec.suspend or job.has_finished or not {GROUP_LABEL, KUEUE_QUEUE_LABEL} & job.metadata.labels.keys():
        return None
    queue = job.metadata.labels.get(KUEUE_QUEUE_LABEL, "")
    name = queues.names.get((job.metadata.namespace or "default", queue), "")
    if name not in queues.quotas:
        text = f"LocalQueue {queue} is not in the files, or its ClusterQueue" if queue else "it names no queue of Kueue"
        made.note(manifest, "metadata.labels", f"{text}: Kueue does not count this Job while it runs")
        return None
    admission = _admission(manifest, job)
    if admission is None:
        made.note(manifest, "metadata.annotations", "Quotree has not admitted this Job, which runs: Kueue suspends it")
        return None
    assigned = _assigned(manifest, job, admission, queues, name)
    if isinstance(assigned, str):
        made.note(manifest, "metadata.annotations", f"{assigned}: Kueue suspends this Job")
        return None
    pods = {"name": MAIN_POD_SET, "count": job.wanted_pods, "template": manifest.body["spec"]["template"]}
    spec = {"queueName": queue, "active": True, **_priority(job, queues), **_run_time(job), "podSets": [pods]}
    head = {"apiVersion": _VERSION, "kind": "Workload", "metadata": _metadata(job)}
    return {**head, "spec": spec, "status": _status(admission, name, assigned)}


def _admission(manifest: Manifest, job: Job) -> AdmissionAnnotation | None:
    try:
        return read_admission(job.metadata.annotations)
    except BadAnnotation as error:
        raise Problem(f"{where(manifest, 'metadata.annotations')}: {error}") from error


def _assigned(
    manifest: Manifest, job: Job, admission: AdmissionAnnotation, queues: _Queues, cluster_queue: str
) -> dict[str, Any] | str:
    """Return flavor and use of each resource that the ClusterQueue covers, or why they are not its flavors.

    Raises Problem when a request is no quantity.
    """
    try:
        request = dict(effective_request(job.spec.template.spec))
    except QuantityError as error:
        raise Problem(f"{where(manifest, 'spec.template.spec')}: {error}") from error
    request[POD_COUNT] = 1
    ours = admission.assigned.get(MAIN_POD_SET, {})
    flavors: dict[str, str] = {}
    for resources, offered in _offered(queues.quotas[cluster_queue]):
        chosen = {queues.flavors.get(ours[each], ours[each]) for each in resources if each in ours} or {offered[0]}
        if len(chosen) > 1 or not chosen <= set(offered):
            return f"ClusterQueue {cluster_queue} has no flavor {' with '.join(sorted(chosen))} for it"
        flavors |= dict.fromkeys((each for each in resources if each in request), chosen.pop())
    used = {each: write_quantity(each, request[each] * job.wanted_pods) for each in flavors}
    return {"name": MAIN_POD_SET, "flavors": flavors, "resourceUsage": used, "count": job.wanted_pods}


def _offered(groups: Iterable[ResourceGroupView]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the resources of each group and its flavors, in their order."""
    for group in groups:
        if group.flavors:
            yield [each.name for each in group.flavors[0].resources], [each.name for each in group.flavors]


def _priority(job: Job, queues: _Queues) -> dict[str, Any]:
    """Return the priority by which Kueue compares it, by its class of Kueue's or of Kubernetes'; empty: no class."""
    wanted = {
        ("WorkloadPriorityClass", job.metadata.labels.get(PRIORITY_LABEL, "")): _KUEUE,
        ("PriorityClass", job.spec.template.spec.priority_class_name): "scheduling.k8s.io",
    }
    for (kind, name), group in wanted.items():
        if (kind, name) in queues.priorities:
            reference = {"group": group, "kind": kind, "name": name}
            return {"priority": queues.priorities[kind, name], "priorityClassRef": reference}
    return {}


def _run_time(job: Job) -> dict[str, int]:
    seconds = job.metadata.labels.get(MAX_EXEC_TIME, "")
    return {"maximumExecutionTimeSeconds": int(seconds)} if seconds.isdecimal() else {}


def _metadata(job: Job) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job.metadata.name, "uid": job.metadata.uid}
    return {
        "name": f"job-{job.metadata.name[:_MOST_OF_NAME].rstrip('-.')}-{job.metadata.uid[:5]}",
        "namespace": job.metadata.namespace or "default",
        "labels": {f"{_KUEUE}/job-uid": job.metadata.uid},
        "finalizers": [f"{_KUEUE}/resource-in-use"],
        "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
    }


def _status(admission: AdmissionAnnotation, cluster_queue: str, assigned: Mapping[str, Any]) -> dict[str, Any]:
    condition = {
        "status": "True",
        "reason": "StartedByQuotree",
        "message": "The Job runs since Quotree admitted it",
        "lastTransitionTime": write_moment(admission.time),
    }
    return {
        "admission": {"clusterQueue": cluster_queue, "podSetAssignments": [dict(assigned)]},
        "conditions": [{"type": each, **condition} for each in ("QuotaReserved", "Admitted")],
    }
