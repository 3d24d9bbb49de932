"""The trace as Kubernetes objects: nodes and flavors by GPU model, pods as Jobs with a priority class."""

from collections.abc import Iterable
from typing import Any, Final

from dev.openb.records import NodeRecord, PodRecord
from shared.api import names

MODEL_LABEL: Final = "openb.quotree.dev/gpu-model"
GPU: Final = "nvidia.com/gpu"

PRIORITIES: Final = {"LS": 1000, "Guaranteed": 800, "Burstable": 500, "BE": 100}
"""The trace's service classes from latency-sensitive to best effort; the numbers are ours, the order is theirs."""

Object = dict[str, Any]


def node(record: NodeRecord) -> Object:
    """Return a ready node that gives what the trace's machine had."""
    gives = {
        "cpu": f"{record.cpu_milli}m",
        "memory": f"{record.memory_mib}Mi",
        GPU: str(record.gpus),
        "pods": "110",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": record.name, "labels": {MODEL_LABEL: record.model, "kubernetes.io/hostname": record.name}},
        "status": {"allocatable": gives, "capacity": gives, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def flavor(model: str) -> Object:
    """Return the flavor of one GPU model."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": "ResourceFlavor",
        "metadata": {"name": flavor_name(model)},
        "spec": {"nodeLabels": {MODEL_LABEL: model}},
    }


def flavor_name(model: str) -> str:
    """Return the flavor's name for a GPU model: V100M16 is v100m16."""
    return model.lower()


def priority_classes() -> list[Object]:
    """Return one PriorityClass for each service class of the trace."""
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": priority_class_name(qos)},
            "value": value,
            "preemptionPolicy": "Never",
        }
        for qos, value in PRIORITIES.items()
    ]


def priority_class_name(qos: str) -> str:
    """Return the PriorityClass of a service class: LS is openb-ls."""
    return f"openb-{qos.lower()}"


def job(record: PodRecord, *, namespace: str, group: str, annotations: dict[str, str] | None = None) -> Object:
    """Return the pod as a Job of one pod in `group`; `annotations` go on its pod template."""
    requests = {"cpu": f"{record.cpu_milli}m", "memory": f"{record.memory_mib}Mi"}
    if record.gpus:
        requests[GPU] = str(record.gpus)
    template: Object = {
        "restartPolicy": "Never",
        "priorityClassName": priority_class_name(record.qos),
        "containers": [
            {"name": "main", "image": "openb", "resources": {"requests": requests, "limits": _limits(record)}}
        ],
    }
    if record.models:
        template["affinity"] = _accepts(sorted(record.models))
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": record.name, "namespace": namespace, "labels": {names.GROUP_LABEL: group}},
        "spec": {
            "backoffLimit": 0,
            "template": {"metadata": {"annotations": annotations or {}}, "spec": template},
        },
    }


def _limits(record: PodRecord) -> dict[str, str]:
    return {GPU: str(record.gpus)} if record.gpus else {}


def _accepts(models: list[str]) -> Object:
    terms = [{"matchExpressions": [{"key": MODEL_LABEL, "operator": "In", "values": models}]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def by_model(records: Iterable[NodeRecord]) -> dict[str, list[NodeRecord]]:
    """Return the nodes of each GPU model, in the trace's order."""
    found: dict[str, list[NodeRecord]] = {}
    for record in records:
        found.setdefault(record.model, []).append(record)
    return found
