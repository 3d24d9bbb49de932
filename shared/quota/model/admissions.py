"""Whether an admission can be believed: it names flavors that the group has, for all that the group covers. Pure.

An admission is an annotation on the workload's object. With a flavor that nobody has, or without one, what runs would
use nothing of any limit and never be evicted. See docs/specification.md §5.7.
"""

from shared.quota.model.membership import GroupByName, path_of
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Group
from shared.quota.model.workload import Workload


def why_no_admission(workload: Workload, groups: GroupByName, settings: QuotaSettings) -> str:
    """Return why its admission counts as none; empty: it counts, or the group is not known.

    A flavor that its leaf lost while the workload runs still counts if a group above has it: there it is accounted for.
    """
    group = groups(workload.group)
    if group is None or workload.admission is None:
        return ""
    for each in workload.sets:
        assigned = workload.admission.flavors.get(each.name, {})
        for resource in each.request:
            flavor = assigned.get(resource)
            # First what nearly every admission says: a flavor of the leaf.
            if flavor is not None and _covers(group, flavor, resource):
                continue
            if settings.is_of_devices(resource) or not any(resource in entry.covered for entry in group.quotas):
                continue
            if flavor is None:
                return f"names no flavor for {resource}, which group {group.name} covers"
            if not any(_covers(each_group, flavor, resource) for each_group in path_of(groups, group.name)):
                return f"names flavor {flavor[:63]!r} for {resource}, which group {group.name} does not have"
    return ""


def _covers(group: Group, flavor: str, resource: str) -> bool:
    entry = group.entry(flavor)
    return entry is not None and resource in entry.covered
