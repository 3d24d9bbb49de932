"""Objects of the kind PendingWorkload: every pending workload with its position in the queue of its leaf."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from reconciler.visibility.objects.kinds import API_VERSION, PENDING, Json, amount_text
from reconciler.visibility.objects.naming import object_name
from reconciler.visibility.objects.observed import ObservedPlan, write_moment
from shared.api.group_selector import ALL_GROUPS, GroupSelector
from shared.api.names import GROUP_LABEL
from shared.quota.measure.snapshot import LeafSnapshot
from shared.quota.model.workload import Workload, namespace_of

_NO_PLACES: Mapping[str, tuple["Place", ...]] = {}


@dataclass(frozen=True, slots=True)
class Place:
    """A workload and its position in the queue of its leaf, from 1; 0 outside the queue."""

    workload: Workload
    position: int


@dataclass(slots=True)
class Places:
    """The positions by namespace; a leaf is read again only when it has changed."""

    _known: dict[str, tuple[LeafSnapshot, Mapping[str, tuple[Place, ...]]]] = field(default_factory=dict)

    def of(self, observed: ObservedPlan, namespace: str | None, groups: GroupSelector = ALL_GROUPS) -> Iterator[Place]:
        """Yield the workloads of a namespace, or of all, that wait in these groups: by group, then by place.

        Groups are read one after another, so that taking the places one by one never takes long at once.
        """
        started = {start.workload.id for start in observed.plan.starts}
        for name in sorted(filter(groups.takes, observed.snapshot.leaves)):
            by_namespace = self._of_leaf(name, observed.snapshot.leaves[name])
            names = by_namespace if namespace is None else (namespace,)
            here = [place for each in names for place in by_namespace.get(each, ())]
            here.sort(key=lambda place: (place.position == 0, place.position))
            yield from (each for each in here if each.workload.id not in started)
        for workload in observed.snapshot.orphaned:
            if workload.is_pending and namespace in (None, namespace_of(workload.key)) and groups.takes(workload.group):
                yield Place(workload, 0)

    def _of_leaf(self, name: str, leaf: LeafSnapshot) -> Mapping[str, tuple[Place, ...]]:
        known = self._known.get(name)
        if known is not None and known[0] is leaf:
            return known[1]
        found: dict[str, list[Place]] = {}
        for place in _places_in(leaf):
            found.setdefault(namespace_of(place.workload.key), []).append(place)
        places = {namespace: tuple(each) for namespace, each in found.items()} if found else _NO_PLACES
        self._known[name] = (leaf, places)
        return places


def _places_in(leaf: LeafSnapshot) -> Iterator[Place]:
    for index, workload in enumerate(leaf.pending):
        yield Place(workload, index + 1)
    for workload in leaf.aside:
        yield Place(workload, 0)


def pending_object(observed: ObservedPlan, place: Place) -> Json | None:
    """Return the object; None for a workload that is no longer pending. It names no workload of another namespace."""
    workload = place.workload
    why = observed.reasons.why(workload)
    if why is None:
        return None
    namespace, name = namespace_of(workload.key), object_name(workload)
    status: Json = {
        "kind": workload.kind,
        "group": workload.group,
        "position": place.position,
        "reason": why.reason.value,
        "message": why.message,
        "priority": workload.priority,
        "queued": write_moment(workload.queued),
    }
    if why.binding:
        status["binding"] = why.binding
    if why.resource:
        missing = f"{amount_text(why.resource, why.missing)} of {why.flavor}"
        status |= {"flavor": why.flavor, "resource": why.resource, "amount": why.missing, "missing": missing}
    return {
        "apiVersion": API_VERSION,
        "kind": PENDING.kind,
        "metadata": metadata_of(workload, namespace, name),
        "status": status | observed.stamp(),
    }


def metadata_of(workload: Workload, namespace: str, name: str) -> Json:
    """Return the metadata of an object about one workload."""
    return {
        "name": name,
        "namespace": namespace,
        "creationTimestamp": write_moment(workload.created),
        "labels": {GROUP_LABEL: workload.group},
    }
