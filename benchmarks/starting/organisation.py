"""One organisation for both contenders: two divisions of three teams that share GPUs of each of the trace's models.

A model is a flavor. Every team is promised an equal part of each, and may borrow all that others leave idle. Cpu and
memory are shared likewise, all that the trace's nodes have, so that GPUs alone are short.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import yaml

from benchmarks.engine.replay import group
from benchmarks.starting.contender import Contender
from benchmarks.starting.itself import PROGRAMS
from benchmarks.starting.kueue import QUEUE_LABEL, Workers, apply_once_it_listens, kueue_object, manager
from dev.controlplane.cluster import ControlPlane
from dev.controlplane.quotree import installed
from dev.openb.manifests import GPU, MODEL_LABEL, by_model, flavor, flavor_name, priority_classes
from dev.openb.records import NodeRecord, PodRecord, read_nodes
from shared.api.names import GROUP_LABEL

DIVISIONS: Final[Mapping[str, Sequence[str]]] = {
    "research": ("vision", "language", "speech"),
    "production": ("search", "ads", "maps"),
}
TEAMS: Final = tuple(team for teams in DIVISIONS.values() for team in teams)
GPUS: Final[Mapping[str, int]] = {"T4": 24, "G2": 16, "G3": 8, "P100": 6, "V100M16": 4, "V100M32": 4, "A10": 1}
"""model → how many GPUs the organisation has, in the order in which models are tried."""
NODES: Final[Mapping[str, Sequence[NodeRecord]]] = by_model(read_nodes())
MORE_WORKERS: Final = Workers(20, 20)
"""With those of its chart, Kueue starts fewer where Jobs come faster than it makes Workloads."""
Amounts = Mapping[str, int]
"""resource → cores, GiB or GPUs."""


def holding(pod: PodRecord) -> list[str]:
    """Return the models that the pod accepts and of which one node and the organisation have enough for it."""
    return [
        model
        for model, gpus in GPUS.items()
        if pod.gpus <= gpus and (not pod.models or model in pod.models) and any(_fits(pod, at) for at in NODES[model])
    ]


def _fits(pod: PodRecord, node: NodeRecord) -> bool:
    return pod.gpus <= node.gpus and pod.cpu_milli <= node.cpu_milli and pod.memory_mib <= node.memory_mib


def promises() -> dict[str, dict[str, Amounts]]:
    """Return team → model → what it is promised: equal parts, and what is left over goes to one team after another."""
    found: dict[str, dict[str, Amounts]] = {team: {} for team in TEAMS}
    first = 0
    for model, gpus in GPUS.items():
        each, more = divmod(gpus, len(TEAMS))
        lucky = {TEAMS[(first + number) % len(TEAMS)] for number in range(more)}
        first += more
        for team in TEAMS:
            cpu = sum(node.cpu_milli for node in NODES[model]) // 1000 // len(TEAMS)
            memory = sum(node.memory_mib for node in NODES[model]) // 1024 // len(TEAMS)
            found[team][model] = {"cpu": cpu, "memory": memory, GPU: each + (team in lucky)}
    return found


@contextmanager
def quotree_organisation(control_plane: ControlPlane) -> Iterator[Contender]:
    """Run Quotree with everything on and its default settings."""
    with installed(control_plane, reconcilers=0) as running:
        running.add_reconciler()
        control_plane.apply(yaml.safe_dump_all([*priority_classes(), *map(flavor, GPUS), *groups()]))
        yield _contender("Quotree", GROUP_LABEL, PROGRAMS)


@contextmanager
def kueue_organisation(control_plane: ControlPlane) -> Iterator[Contender]:
    """Run Kueue with what Quotree does by default: reclaim, preempt by priority, try other flavors before borrowing."""
    with manager(control_plane, MORE_WORKERS):
        apply_once_it_listens(control_plane, yaml.safe_dump_all([*priority_classes(), *queues()]))
        yield _contender("Kueue", QUEUE_LABEL, ("kueue",))


def _contender(name: str, label: str, programs: Sequence[str]) -> Contender:
    return Contender(name, label, (), hold=lambda: None, release=lambda: None, programs=programs)


def groups() -> Iterator[dict[str, Any]]:
    """Yield Quotree's tree; root is given no more GPUs than the organisation has, of those that the nodes have."""
    of = promises()
    most = [{"flavor": flavor_name(model), "max": {GPU: gpus}} for model, gpus in GPUS.items()]
    yield group("root", {"isParent": True, "quotas": most})
    for division, teams in DIVISIONS.items():
        whole = {model: _sum(of[team][model] for team in teams) for model in GPUS}
        yield group(division, {"isParent": True, "quotas": _quotas(whole)})
        for team in teams:
            yield group(team, {"parent": division, "quotas": _quotas(of[team])})


def _sum(parts: Iterable[Amounts]) -> Amounts:
    total: dict[str, int] = {}
    for part in parts:
        for resource, amount in part.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def _quotas(promised: Mapping[str, Amounts]) -> list[dict[str, Any]]:
    return [{"flavor": flavor_name(model), "min": _quantities(amounts)} for model, amounts in promised.items()]


def _quantities(amounts: Amounts) -> dict[str, str]:
    return {resource: f"{amount}Gi" if resource == "memory" else str(amount) for resource, amount in amounts.items()}


def queues() -> Iterator[dict[str, Any]]:
    """Yield the same tree as Kueue's Cohorts, ClusterQueues and LocalQueues."""
    for model in GPUS:
        yield kueue_object("ResourceFlavor", flavor_name(model), {"nodeLabels": {MODEL_LABEL: model}})
    of = promises()
    for division, teams in DIVISIONS.items():
        yield kueue_object("Cohort", division, {"parentName": "organisation"})
        for team in teams:
            flavors = [
                {
                    "name": flavor_name(model),
                    "resources": [{"name": name, "nominalQuota": text} for name, text in _quantities(amounts).items()],
                }
                for model, amounts in of[team].items()
            ]
            spec = {
                "cohortName": division,
                "namespaceSelector": {},
                "resourceGroups": [{"coveredResources": ["cpu", "memory", GPU], "flavors": flavors}],
                "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
                "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"},
            }
            yield kueue_object("ClusterQueue", team, spec)
            yield kueue_object("LocalQueue", team, {"clusterQueue": team}, namespace="default")
