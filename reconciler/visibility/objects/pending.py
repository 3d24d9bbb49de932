"""Objects of the kind PendingWorkload: every pending workload with its position in the queue of its leaf."""

from collections.abc import Iterator
from typing import Final

from reconciler.visibility.objects.kinds import API_VERSION, PENDING, amount_text
from reconciler.visibility.objects.naming import object_name
from reconciler.visibility.objects.observed import ObservedPlan
from shared.api.group_selector import ALL_GROUPS, GroupSelector
from shared.api.json.reading import write_moment
from shared.api.names import GROUP_LABEL
from shared.json_data import Json
from shared.quota.model.workload import Workload, namespace_of
from shared.quota.outlook.explain.pending_rows import Place

_ABSENT: Final = ("binding", "flavor", "resource")
"""Members of a row that an object leaves out where they are empty."""


def places_of(observed: ObservedPlan, namespace: str | None, groups: GroupSelector = ALL_GROUPS) -> Iterator[Place]:
    """Yield the workloads of a namespace, or of all, that wait in these groups: by group, then by place."""
    for place in observed.outlook.rows.places(groups.takes):
        if namespace in (None, namespace_of(place.workload.key)):
            yield place


def pending_object(observed: ObservedPlan, place: Place) -> Json | None:
    """Return the object; None for a workload that is no longer pending. It names no workload of another namespace."""
    row = observed.outlook.rows.row(place)
    if row is None:
        return None
    workload, why = row.workload, row.why
    namespace, name = namespace_of(workload.key), object_name(workload)
    given = row.as_data() | {"queued": write_moment(workload.queued)}
    left_out = {"workload", "missing"} | {member for member in _ABSENT if not given[member]}
    status: Json = {member: value for member, value in given.items() if member not in left_out}
    if why.resource:
        missing = f"{amount_text(why.resource, why.missing)} of {why.flavor}"
        status |= {"amount": why.missing, "missing": missing}
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
