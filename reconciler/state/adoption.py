"""Which flavors a workload gets that was found running without an admission: the first that it may run on. Pure.

See docs/specification.md §5.7.
"""

from shared.quota.measure.snapshot import Snapshot
from shared.quota.model.workload import Flavors, Workload


def flavors_for(workload: Workload, snapshot: Snapshot) -> Flavors:
    """Flavors for what its group covers; what no entry covers is left out and not counted.

    Where nothing fits any more the group's first flavor that the pods may run on is taken: they run already.
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
