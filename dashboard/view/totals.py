"""The whole cluster in a few numbers for each flavor and resource: what there is, what is used, lent and asked for."""

from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.view.frame import Frame
from dashboard.view.tree import amounts_of, measured
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.quota.measure.report import Words
from shared.quota.model.tree import ROOT
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True)
class Total:
    """One flavor and resource. `lent`: what leaves use above their min. `unmet`: what they ask for and do not have."""

    capacity: Amount = 0
    used: Amount = 0
    lent: Amount = 0
    unmet: Amount = 0


def totals(frame: Frame) -> Mapping[FlavorResource, Total]:
    """Return the total of every flavor and resource of root, by name."""
    lent: dict[FlavorResource, Amount] = {}
    unmet: dict[FlavorResource, Amount] = {}
    root: Mapping[FlavorResource, Words] = {}
    for name, record in frame.groups.items():
        if name == ROOT:
            root = dict(amounts_of(record, measured(frame, record)))
        elif is_leaf(record):
            for key, amounts in amounts_of(record, measured(frame, record)):
                lent[key] = lent.get(key, 0) + amounts["borrowed"]
                unmet[key] = unmet.get(key, 0) + max(0, amounts["request"] - amounts["used"])
    capacity = frame.outlook.given.capacity if frame.outlook is not None else {}
    return {
        key: Total(capacity.get(key, own["runtime"]), own["used"], lent.get(key, 0), unmet.get(key, 0))
        for key, own in sorted(root.items())
        if any(own.values()) or capacity.get(key)
    }


def waiting(frame: Frame) -> int:
    """Return how many workloads wait in the whole cluster."""
    if frame.outlook is not None:
        return sum(len(leaf.pending) + len(leaf.aside) for leaf in frame.outlook.given.leaves.values())
    root = frame.groups.get(ROOT)
    if root is not None:
        return root.status.workloads.pending
    return sum(each.is_pending for workloads in frame.world.workload_sets.values() for each in workloads.by_id.values())


def is_leaf(record: GroupStatusRecord) -> bool:
    """Return whether the group takes workloads."""
    return record.group.name != ROOT and not record.group.is_parent
