"""The flavors of an unadmitted running workload: the first that it can run on. Pure. See docs/specification.md §5.7."""

from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.workload import Flavors, Workload


def flavors_for(workload: Workload, snapshot: Snapshot) -> Flavors:
    """Return the flavors for what its group covers; anything else is left out and not counted.

    If nothing fits any more, the group's first eligible flavor is taken, because the pods already run.
    """
    leaf = snapshot.leaves.get(workload.group)
    if leaf is None:
        return {}
    chosen: dict[str, dict[str, str]] = {}
    for each in leaf.options(workload).sets:
        flavor = next(iter(each.flavors), None) or next(iter(each.refused), None)
        if flavor is not None:
            chosen.setdefault(each.pod_set.name, {}).update(dict.fromkeys(each.resources, flavor))
    return chosen
