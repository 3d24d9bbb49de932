"""Which work the objects hold: who is managed, what each piece of it asks for, and what runs outside of quota."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cli.objects import Objects
from shared.api.limitrange import NO_DEFAULTS, ContainerDefaults, LimitRange, container_defaults
from shared.api.pod import Pod
from shared.api.priority import Priorities
from shared.quota.model.pod_reading import pod_group_of, workload_of_pod, workload_of_pod_group
from shared.quota.model.reading import Reading, Surroundings, WorkState, workload_of_job
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.workload import Workload


@dataclass(frozen=True, slots=True)
class Cluster:
    """What lies around all work: namespaces' labels and limits, and the cluster's classes."""

    labels: Mapping[str, Mapping[str, str]]
    limits: Mapping[str, ContainerDefaults]
    classes: Surroundings

    @staticmethod
    def of(objects: Objects) -> "Cluster":
        """From what the manifests say; a namespace that is not among them has no labels."""
        by_namespace: dict[str, list[LimitRange]] = {}
        for each in objects.limit_ranges:
            by_namespace.setdefault(each.metadata.namespace or "default", []).append(each)
        return Cluster(
            labels={each.metadata.name: each.metadata.labels for each in objects.namespaces},
            limits={name: container_defaults(found) for name, found in by_namespace.items()},
            classes=Surroundings(
                priorities=Priorities.of(objects.priority_classes),
                overheads={each.metadata.name: each.overhead.pod_fixed for each in objects.runtime_classes},
            ),
        )

    def around(self, namespace: str) -> Surroundings:
        """What lies around work of that namespace."""
        name = namespace or "default"
        labels, limits = self.labels.get(name, {}), self.limits.get(name, NO_DEFAULTS)
        return replace(self.classes, namespace_labels=labels, limits=limits)


@dataclass(frozen=True, slots=True)
class Work:
    """All work, and what of it could not be read: object name -> what is wrong."""

    workloads: tuple[Workload, ...]
    unmanaged: tuple[Pod, ...]
    problems: tuple[tuple[str, str], ...]


def read_work(objects: Objects, settings: QuotaSettings) -> Work:
    """Every Job, pod and pod group that is managed, and the pods that are not and use nodes."""
    cluster = Cluster.of(objects)
    readings: list[tuple[str, Reading]] = [
        (f"Job/{job.metadata.key}", workload_of_job(job, cluster.around(job.metadata.namespace), settings))
        for job in objects.jobs
    ]
    unmanaged: list[Pod] = []
    grouped: dict[str, list[Pod]] = {}
    for pod in objects.pods:
        key = pod_group_of(pod)
        if key is not None:
            grouped.setdefault(key, []).append(pod)
            continue
        reading = workload_of_pod(pod, cluster.around(pod.metadata.namespace), settings)
        readings.append((f"Pod/{pod.metadata.key}", reading))
        if reading.state is WorkState.UNMANAGED and pod.spec.node_name and not pod.has_ended:
            unmanaged.append(pod)
    for key, members in grouped.items():
        around = cluster.around(members[0].metadata.namespace)
        readings.append((f"PodGroup/{key}", workload_of_pod_group(members, around, settings)))
    return Work(
        workloads=tuple(reading.workload for _, reading in readings if reading.workload is not None),
        unmanaged=tuple(unmanaged),
        problems=tuple((name, problem) for name, reading in readings for problem in reading.problems),
    )
