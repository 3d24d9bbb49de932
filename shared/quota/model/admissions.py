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
    covered = {resource for entry in group.quotas for resource in entry.covered}
    for each in workload.sets:
        assigned = workload.admission.flavors.get(each.name, {})
        for resource in each.request:
            if resource not in covered or settings.is_of_devices(resource):
                continue
            flavor = assigned.get(resource)
            if flavor is None:
                return f"names no flavor for {resource}, which group {group.name} covers"
            # The leaf first: it has nearly every flavor that an admission names.
            path = (group,) if _covers(group, flavor, resource) else path_of(groups, group.name)
            if not any(_covers(each_group, flavor, resource) for each_group in path):
                return f"names flavor {flavor[:63]!r} for {resource}, which group {group.name} does not have"
    return ""


def _covers(group: Group, flavor: str, resource: str) -> bool:
    entry = group.entry(flavor)
    return entry is not None and resource in entry.covered
