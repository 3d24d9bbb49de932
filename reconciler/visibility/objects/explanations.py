"""Objects of the kind Explanation, with the members of `quotree explain -o json`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from reconciler.visibility.objects.kinds import API_VERSION, EXPLANATION
from reconciler.visibility.objects.naming import object_name, redacted
from reconciler.visibility.objects.observed import ObservedPlan
from reconciler.visibility.objects.pending import metadata_of
from shared.json_data import Json
from shared.quota.measure.inputs.workload_set import WorkloadSet
from shared.quota.model.workload import Workload, namespace_of


@dataclass(slots=True)
class WorkloadsByNamespace:
    """All workloads in any state; a group is read again only when its workloads have changed."""

    _known: dict[str, tuple[WorkloadSet, Mapping[str, tuple[Workload, ...]]]] = field(default_factory=dict)

    def of(self, observed: ObservedPlan, namespace: str | None) -> list[Workload]:
        """Return the workloads of a namespace, or of all, by name."""
        found: list[Workload] = []
        for group, workload_set in observed.snapshot.world.workload_sets.items():
            by_namespace = self._of_group(group, workload_set)
            for name in by_namespace if namespace is None else (namespace,):
                found += by_namespace.get(name, ())
        return sorted(found, key=lambda each: (each.key, each.kind != "Job", each.kind))

    def _of_group(self, group: str, workload_set: WorkloadSet) -> Mapping[str, tuple[Workload, ...]]:
        known = self._known.get(group)
        if known is not None and known[0] is workload_set:
            return known[1]
        found: dict[str, list[Workload]] = {}
        for each in workload_set.by_id.values():
            found.setdefault(namespace_of(each.key), []).append(each)
        by_namespace = {namespace: tuple(each) for namespace, each in found.items()}
        self._known[group] = (workload_set, by_namespace)
        return by_namespace


def explanation_object(observed: ObservedPlan, workload: Workload, data: Json, *, told_all: bool) -> Json:
    """Return the object; unless `told_all`, without names of workloads in other namespaces."""
    namespace = namespace_of(workload.key)
    told = data if told_all else redacted(data, namespace)
    return {
        "apiVersion": API_VERSION,
        "kind": EXPLANATION.kind,
        "metadata": metadata_of(workload, namespace, object_name(workload)),
        "status": dict(_members(told)) | observed.stamp(),
    }


def _members(data: Json) -> Iterator[tuple[str, object]]:
    """Without absent members, as usual in Kubernetes."""
    for name, value in data.items():
        if value is not None:
            yield name, value
