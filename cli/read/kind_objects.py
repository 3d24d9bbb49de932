"""Read the objects of governed kinds among the manifests as workloads, with the pods that were made for them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cli.read.objects import ManifestObjects
from shared.api.core.job import JobSpec
from shared.api.core.metadata import Metadata
from shared.api.core.pod import Pod, PodSpec
from shared.api.names import POD_SET_LABEL
from shared.kinds.kind_object import KindObject
from shared.quota.model.namespace_context import NamespaceContext, NamespaceContexts
from shared.quota.model.read.jobs import ObjectState, Reading, pod_request_of
from shared.quota.model.read.kind_objects import PodsBySet, SeenPods, workload_of_kind
from shared.quota.model.read.pods import unit_of
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.workloads.governed_kind import check_kind_object
from shared.quota.model.settings import QuotaSettings
from shared.resources import QuantityError, sum_amounts


def namespace_of(metadata: Metadata) -> str:
    """Return the namespace in which kubectl would create the object: `default` for a manifest without one."""
    return metadata.namespace or "default"


@dataclass(frozen=True, slots=True)
class WorkloadRead:
    """One workload: the name that violations use, its metadata, and what was read of it."""

    name: str
    metadata: Metadata
    reading: Reading
    specs: tuple[PodSpec, ...]
    job: JobSpec | None = None
    refused: tuple[Violation, ...] = ()
    is_first: bool = True
    """Whether no other workload of the same object was read before."""


def read_kind_objects(
    objects: ManifestObjects, cluster: NamespaceContexts, settings: QuotaSettings
) -> Iterator[WorkloadRead]:
    """Yield every object of a governed kind that no other accounts for; of a gated kind each of its groups of pods."""
    pods: dict[tuple[str, str], list[Pod]] = {}
    for pod in objects.pods:
        if unit := unit_of(pod):
            pods.setdefault((namespace_of(pod.metadata), unit), []).append(pod)
    for seen in objects.kind_objects:
        namespace = namespace_of(seen.metadata)
        context = cluster.of(namespace)
        if not seen.metadata.unit:
            own = _by_set(pods.get((namespace, seen.metadata.uid), []), context, settings)
            yield from _read(seen, workload_of_kind(seen, context, settings, own))


def _read(seen: KindObject, reading: Reading) -> Iterator[WorkloadRead]:
    name = f"{seen.kind.kind}/{seen.metadata.key}"
    specs = tuple(each.spec for each in seen.pod_sets if each.count)
    is_managed = reading.state is not ObjectState.UNMANAGED
    refused = tuple(check_kind_object(name, seen)) if is_managed else ()
    told = {*seen.problems, *seen.refusals}
    reading = replace(reading, problems=tuple(each for each in reading.problems if each not in told))
    if seen.kind.gate is None or reading.workload is None:
        yield WorkloadRead(name, seen.metadata, reading, specs, refused=refused)
        return
    for number in range(seen.groups):
        workload = replace(reading.workload, kind="PodGroup", key=f"{seen.metadata.key}-{number}")
        group = WorkloadRead(name, seen.metadata, replace(reading, workload=workload), specs)
        yield replace(group, is_first=False) if number else replace(group, refused=refused)


def _by_set(pods: list[Pod], context: NamespaceContext, settings: QuotaSettings) -> PodsBySet:
    sets: dict[str, list[Pod]] = {}
    for pod in pods:
        sets.setdefault(pod.metadata.labels.get(POD_SET_LABEL, ""), []).append(pod)
    return {name: _sum_up(own, context, settings) for name, own in sets.items()}


def _sum_up(pods: list[Pod], context: NamespaceContext, settings: QuotaSettings) -> SeenPods:
    live = [pod for pod in pods if not pod.has_ended]
    try:
        request = sum_amounts(pod_request_of(pod.spec, context, settings) for pod in live)
    except QuantityError:
        request = {}  # the API server stores no such pod
    return SeenPods(len(live), sum(pod.is_ready for pod in pods), request)
