"""The state of the demo's Jobs in the API, read again for every check."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dev.controlplane.cluster import ControlPlane
from dev.openb.manifests import GPU, MODEL_LABEL
from shared.api import annotations, names
from shared.resources import read_amount


@dataclass(frozen=True, slots=True)
class Seen:
    """One Job as it stands. `started` is its latest start, `evicted` its latest eviction."""

    name: str
    namespace: str
    group: str
    priority_class: str
    gpus: int
    cpu_milli: int
    held: bool
    flavor: str | None
    started: datetime | None
    evicted: datetime | None
    reason: str | None
    finished: datetime | None
    failed: bool


def jobs(cluster: ControlPlane) -> list[Seen]:
    """Return all managed Jobs."""
    return [_seen(item) for item in _items(cluster, "/apis/batch/v1/jobs?labelSelector=quotree.dev/group")]


def _items(cluster: ControlPlane, path: str) -> list[dict[str, Any]]:
    status, body = cluster.rest.request("GET", path)
    if status != 200:
        raise RuntimeError(f"GET {path} answered {status}: {body}")
    items: list[dict[str, Any]] = body["items"]
    return items


def _seen(job: dict[str, Any]) -> Seen:
    metadata, spec, status = job["metadata"], job["spec"], job.get("status", {})
    notes = metadata.get("annotations", {})
    admission, eviction = annotations.read_admission(notes), annotations.read_eviction(notes)
    template = spec["template"]["spec"]
    requests = template["containers"][0]["resources"]["requests"]
    ended = [each for each in status.get("conditions", []) if each["type"] in ("Complete", "Failed")]
    return Seen(
        name=metadata["name"],
        namespace=metadata["namespace"],
        group=metadata["labels"][names.GROUP_LABEL],
        priority_class=template["priorityClassName"],
        gpus=int(requests.get(GPU, 0)),
        cpu_milli=read_amount("cpu", requests["cpu"]),
        held=bool(spec.get("suspend")),
        flavor=None if admission is None else next(iter(admission.assigned["main"].values())),
        started=None if admission is None else admission.time,
        evicted=None if eviction is None else eviction.time,
        reason=None if eviction is None else eviction.reason,
        finished=datetime.fromisoformat(ended[0]["lastTransitionTime"]) if ended else None,
        failed=any(each["type"] == "Failed" for each in ended),
    )


def misplaced(cluster: ControlPlane) -> tuple[int, list[str]]:
    """Return the number of pods with a node, and a message for each on a node not of its flavor or accepted model."""
    models = {
        node["metadata"]["name"]: node["metadata"]["labels"].get(MODEL_LABEL, "")
        for node in _items(cluster, "/api/v1/nodes")
    }
    wrong, count = [], 0
    for pod in _items(cluster, "/api/v1/pods"):
        node = pod["spec"].get("nodeName")
        if node is None or node not in models:
            continue
        count += 1
        selected = pod["spec"].get("nodeSelector", {}).get(MODEL_LABEL)
        accepted = _accepted(pod["spec"])
        if models[node] != selected or (accepted and models[node] not in accepted):
            wrong.append(f"{pod['metadata']['name']} runs on {models[node]}, wants {sorted(accepted) or selected}")
    return count, wrong


def _accepted(spec: Mapping[str, Any]) -> frozenset[str]:
    required = (
        spec.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
    )
    terms = required.get("nodeSelectorTerms", [])
    return frozenset(value for term in terms for each in term["matchExpressions"] for value in each["values"])


def group_status(cluster: ControlPlane, name: str) -> dict[str, Any]:
    """Return the status of one QuotaGroup; empty before the first one is written."""
    _, body = cluster.rest.request("GET", f"/apis/quotree.dev/v1alpha1/quotagroups/{name}")
    status: dict[str, Any] = body.get("status", {})
    return status


def total(status: Mapping[str, Any], column: str, resource: str) -> int:
    """Return what a group's status says in one column, such as used, of a resource over all flavors, in whole units."""
    return sum(int(entry.get(column, {}).get(resource, 0)) for entry in status.get("quotas", []))


def unfair_victims(before: Iterable[Seen], after: Iterable[Seen], priorities: Mapping[str, int]) -> list[str]:
    """Victims whose place a less important Job of the same leaf and flavor, at least as large, could have taken."""
    was = {seen.name: seen for seen in before if seen.started is not None and not seen.held}
    now = {seen.name: seen for seen in after}
    victims = [(was[name], now[name]) for name in was if now[name].evicted != was[name].evicted]
    found = []
    for victim, fate in victims:
        for other in was.values():
            last = now[other.name]
            stayed = last.evicted == other.evicted and (
                last.finished is None or last.finished > (fate.evicted or last.finished)
            )
            same_room = (other.group, other.flavor) == (victim.group, victim.flavor)
            larger = other.gpus >= victim.gpus and other.cpu_milli >= victim.cpu_milli
            if same_room and stayed and larger and priorities[other.priority_class] < priorities[victim.priority_class]:
                found.append(
                    f"{victim.name} ({victim.priority_class}) went before {other.name} ({other.priority_class})"
                )
    return found
