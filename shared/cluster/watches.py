"""What is watched in a live cluster, which record is kept of each kind, and who receives the changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from shared.api.core.job import Job
from shared.api.core.limitrange import read_limit_range
from shared.api.core.namespace import read_namespace
from shared.api.core.priority import read_priority_class
from shared.api.core.resource_claim import read_resource_claim, read_resource_claim_template
from shared.api.core.runtimeclass import read_runtime_class
from shared.api.names import POD_GROUP_LABEL, UNIT_LABEL
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.gangs import SeenPodGroup, project_pod_group
from shared.cluster.state.observed.kind_projection import KindRecord, project_kind
from shared.cluster.state.observed.pod_watches import counted_once
from shared.cluster.state.observed.projections import (
    FinishedOwner,
    PodRecord,
    project_group,
    project_job,
    project_node,
    project_pod,
)
from shared.kinds.kind import Kinds
from shared.kube.client import Client
from shared.kube.resources import (
    JOBS,
    LIMIT_RANGES,
    NAMESPACES,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    QUOTA_GROUPS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_FLAVORS,
    RUNTIME_CLASSES,
    Resource,
    resource_of_kind,
)
from shared.kube.watch.cache import Change, Project, Undecodable
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import MAY_BE_ABSENT, Watch, WatchSettings
from shared.quota.model.devices.claims import DeviceSource
from shared.quota.model.read.groups import read_flavor
from shared.quota.model.settings import CapacitySource
from shared.telemetry import get_logger

R = TypeVar("R")
LIVE: Final = "status.phase!=Succeeded,status.phase!=Failed"
"""The pods that have not ended."""
_KNOWN: Final = WatchSettings()
_NO_KINDS: Final = Kinds()
_NOT_GROUPED: Final = f"!{POD_GROUP_LABEL}"

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WorkloadWatches:
    """The watches of Jobs, pods, and objects of governed kinds."""

    jobs: Watch[Job | FinishedOwner]
    pods: Sequence[Watch[PodRecord]]
    kinds: Sequence[Watch[KindRecord]] = ()
    pod_groups: Watch[SeenPodGroup] | None = None
    """The PodGroups that Quotree has made; None: it makes none."""


def watch_everything(  # noqa: PLR0913
    client: Client,
    state: ClusterState,
    watches: Watches,
    wake: Callable[[], None],
    *,
    namespace: str | None = None,
    kinds: Kinds = _NO_KINDS,
) -> WorkloadWatches:
    """Add every watch to `watches`; each calls `wake` when it changed what decisions are made on.

    `namespace`: of what has a namespace, only that in this one. `kinds`: what is governed beside Jobs and pods.
    """

    def add(  # noqa: PLR0913
        resource: Resource,
        project: Project[R],
        sink: Callable[[Sequence[Change[R]]], None],
        *,
        labels: str = "",
        fields: str = "",
        name: str = "",
        settings: WatchSettings = _KNOWN,
    ) -> Watch[R]:
        def notify(changes: Sequence[Change[R]]) -> None:
            for change in changes:
                if isinstance(change, Undecodable):
                    log.warning("Object not understood", resource=resource.plural, name=change.name, why=change.reason)
            sink(changes)
            if state.changed or state.faults.new:
                wake()

        watch = Watch(
            client,
            resource,
            project,
            notify,
            namespace=namespace,
            labels=labels,
            fields=fields,
            name=name,
            settings=settings,
        )
        return watches.add(watch)

    add(NAMESPACES, read_namespace, state.observe_namespaces)
    add(LIMIT_RANGES, read_limit_range, state.observe_limit_ranges)
    add(PRIORITY_CLASSES, read_priority_class, state.observe_priority_classes)
    add(RUNTIME_CLASSES, read_runtime_class, state.observe_runtime_classes)
    add(RESOURCE_FLAVORS, read_flavor, state.observe_flavors)
    add(QUOTA_GROUPS, project_group, state.observe_groups)
    if state.settings.capacity_source is CapacitySource.NODES:
        add(NODES, project_node, state.observe_nodes)
    if state.settings.devices is not None:
        # Before what names them. A cluster older than these kinds has none of them.
        for resource, project, source in (
            (RESOURCE_CLAIM_TEMPLATES, read_resource_claim_template, DeviceSource.TEMPLATE),
            (RESOURCE_CLAIMS, read_resource_claim, DeviceSource.CLAIM),
        ):
            add(resource, project, partial(state.observe_claims, source), settings=MAY_BE_ABSENT)
    held = kinds.suspended
    others = f"{_NOT_GROUPED},!{UNIT_LABEL}" if held else _NOT_GROUPED
    pods: list[Watch[PodRecord]] = []

    def observe_pods(place: int, changes: Sequence[Change[PodRecord]]) -> None:
        records = [each.records for each in pods]
        state.observe_pods([*counted_once(changes, records[:place], records[place + 1 :])])

    pods.append(add(PODS, project_pod, partial(observe_pods, 0), labels=others, fields=LIVE))
    # Of a group, ended pods too: without them the remaining pods would wait for the group's size.
    pods.append(add(PODS, project_pod, partial(observe_pods, 1), labels=POD_GROUP_LABEL, name="pods of groups"))
    if held:
        # Of an object of a governed kind, ended pods too: those that have succeeded count as ready.
        made = f"{_NOT_GROUPED},{UNIT_LABEL}"
        pods.append(add(PODS, project_pod, partial(observe_pods, 2), labels=made, name="pods of other kinds"))
    # After the pods: what an object is told by them.
    found = [
        add(
            resource_of_kind(kind),
            project_kind(kind),
            state.observe_kind_objects,
            name=f"{kind.resource}.{kind.group}",
            settings=MAY_BE_ABSENT,
        )
        for kind in held
    ]
    pod_groups = None
    if state.settings.gang_scheduling:
        pod_groups = add(
            POD_GROUPS,
            project_pod_group,
            state.work.follow_ups.observe_pod_groups,
            labels=UNIT_LABEL,
            settings=MAY_BE_ABSENT,
        )
    return WorkloadWatches(add(JOBS, project_job, state.observe_jobs), pods, found, pod_groups)
