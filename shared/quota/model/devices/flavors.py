"""The flavors in which devices count that a started workload was not admitted with.

Its owner can delete a template and create another one of its name: pods that are made later then take devices of
another class, which its admission does not mention. They are counted in a flavor nevertheless.

See docs/specification.md §2.10.
"""

from collections.abc import Mapping
from dataclasses import replace

from shared.quota.model.settings import QuotaSettings, Uncovered
from shared.quota.model.tree import DEFAULT_FLAVOR, Group
from shared.quota.model.workload import PodSet, Workload


def with_all_devices(workload: Workload, group: Group | None, settings: QuotaSettings) -> Workload:
    """Return the workload with a flavor for every device resource that its pods use; `group` is its own."""
    admission = workload.admission
    if admission is None or settings.devices is None:
        return workload
    more = {
        each.name: _unassigned(each, admission.flavors.get(each.name, {}), group, settings) for each in workload.sets
    }
    if not any(more.values()):
        return workload
    flavors = {**admission.flavors, **{name: {**admission.flavors.get(name, {}), **own} for name, own in more.items()}}
    return replace(workload, admission=replace(admission, flavors=flavors))


def _unassigned(
    pod_set: PodSet, own: Mapping[str, str], group: Group | None, settings: QuotaSettings
) -> Mapping[str, str]:
    left = (name for name, amount in pod_set.request.items() if amount and name not in own)
    found = {name: _flavor_for(name, own, group, settings) for name in left if settings.is_of_devices(name)}
    return {name: flavor for name, flavor in found.items() if flavor is not None}


def _flavor_for(resource: str, own: Mapping[str, str], group: Group | None, settings: QuotaSettings) -> str | None:
    """Return a flavor of the group that covers it, preferably one of the pods; where none covers it, one of the pods.

    There the group's limits are 0. None: what no entry covers is not counted.
    """
    covering = [entry.flavor for entry in group.quotas if resource in entry.covered] if group is not None else []
    if covering:
        return next((flavor for flavor in covering if flavor in own.values()), covering[0])
    return None if settings.uncovered is Uncovered.IGNORE else next(iter(own.values()), DEFAULT_FLAVOR)
