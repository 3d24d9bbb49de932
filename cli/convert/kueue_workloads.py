"""Workloads that name a LocalQueue, with Quotree's labels instead; Kueue's priority classes as PriorityClasses."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from cli.convert.conversion import Conversion, as_written, read_object
from cli.convert.kueue_objects import read_local_queue, read_workload_priority_class
from cli.read.duplicates import check_unique
from cli.read.manifests import Manifest
from shared.api.names import GROUP_LABEL, POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL

QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
POD_GROUP_NAME: Final = "kueue.x-k8s.io/pod-group-name"
POD_GROUP_COUNT: Final = "kueue.x-k8s.io/pod-group-total-count"
DEFAULT_QUEUE: Final = "default"
"""The LocalQueue of workloads that name none."""


class LocalQueues:
    """Which group a LocalQueue stands for: by namespace and name."""

    def __init__(self, manifests: Iterable[Manifest], groups: Mapping[str, str], made: Conversion) -> None:
        self._groups: dict[tuple[str, str], str] = {}
        self._namespaces: dict[str, set[str]] = {}
        for manifest in manifests:
            namespace = manifest.namespace or "default"
            spec = read_object(read_local_queue, manifest).spec
            group = groups.get(spec.cluster_queue)
            if group is None:
                made.note(manifest, "spec.clusterQueue", f"{spec.cluster_queue} is not in the files; left out")
                continue
            self._groups[namespace, manifest.name] = group
            self._namespaces.setdefault(spec.cluster_queue, set()).add(namespace)
            if manifest.name == DEFAULT_QUEUE:
                made.label_namespace(namespace, group)
            if spec.stop_policy != "None":
                made.note(manifest, "spec.stopPolicy", f"{spec.stop_policy} has no counterpart for one namespace")
            made.note_left_out(manifest, ("clusterQueue", "stopPolicy"))

    def namespaces_of(self, cluster_queue: str) -> set[str]:
        """Return the namespaces that have a LocalQueue of a ClusterQueue."""
        return self._namespaces.get(cluster_queue, set())

    def group_of(self, namespace: str, name: str) -> str | None:
        """Return the group of a LocalQueue, or None when it is not in the files."""
        return self._groups.get((namespace, name))


def convert_priority_classes(manifests: Iterable[Manifest], made: Conversion) -> set[str]:
    """Add a PriorityClass for each WorkloadPriorityClass, and return their names.

    `preemptionPolicy: Never`: kube-scheduler evicts nothing for these pods, as it does not with Kueue's classes.
    """
    names = set()
    for manifest in manifests:
        found = read_object(read_workload_priority_class, manifest)
        body: dict[str, Any] = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": manifest.name},
            "value": found.value,
            "preemptionPolicy": "Never",
        }
        made.workloads.append(body | ({"description": found.description} if found.description else {}))
        names.add(manifest.name)
    return names


def convert_workloads(manifests: Sequence[Manifest], queues: LocalQueues, classes: set[str], made: Conversion) -> None:
    """Add each workload that names a queue, with the group's label in its place."""
    workloads = [each for each in manifests if QUEUE_LABEL in (each.body["metadata"].get("labels") or {})]
    check_unique(workloads)
    for manifest in workloads:
        queue = manifest.body["metadata"]["labels"][QUEUE_LABEL]
        group = queues.group_of(manifest.namespace or "default", queue)
        if group is None:
            place = f"metadata.labels[{QUEUE_LABEL}]"
            made.note(manifest, place, f"LocalQueue {queue} is not in the files; left out")
            continue
        body = deepcopy(as_written(manifest.body))
        _relabel(body["metadata"], group)
        _set_priority(manifest, body, classes, made)
        made.workloads.append(body)


def _relabel(metadata: dict[str, Any], group: str) -> None:
    """Replace Kueue's labels of a queue and of a group of pods by Quotree's."""
    labels, annotations = metadata["labels"], metadata.get("annotations") or {}
    del labels[QUEUE_LABEL]
    labels[GROUP_LABEL] = group
    name = labels.pop(POD_GROUP_NAME, None) or annotations.pop(POD_GROUP_NAME, None)
    count = annotations.pop(POD_GROUP_COUNT, None)
    if name is not None:
        labels |= {POD_GROUP_LABEL: name} | ({POD_GROUP_SIZE_LABEL: count} if count is not None else {})
    if not annotations:
        metadata.pop("annotations", None)


def _set_priority(manifest: Manifest, body: dict[str, Any], classes: set[str], made: Conversion) -> None:
    """Name the class in the pod template, where Quotree reads it."""
    name = body["metadata"]["labels"].pop(PRIORITY_LABEL, None)
    if name is None:
        return
    pods = body["spec"] if manifest.kind == "Pod" else body["spec"].get("template", {}).get("spec")
    place = f"metadata.labels[{PRIORITY_LABEL}]"
    if name not in classes:
        made.note(manifest, place, f"WorkloadPriorityClass {name} is not in the files; left out")
    elif manifest.kind not in ("Job", "Pod") or pods is None:
        made.note(manifest, place, f"write priorityClassName: {name} into its pod templates")
    else:
        pods["priorityClassName"] = name
