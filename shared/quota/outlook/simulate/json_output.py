"""What `quotree simulate` prints, as plain data: the fields of docs/specification.md §9.5, amounts in base units."""

from collections.abc import Mapping

from shared.api.names import MAIN_POD_SET
from shared.json_data import Json
from shared.quota.decide.decisions import Evict, Plan, Start
from shared.quota.measure.group_usage import GroupNumbers
from shared.quota.measure.report import report_of
from shared.quota.model.tree import ROOT
from shared.quota.model.workload import Flavors, Workload


def groups_as_data(numbers: Mapping[str, GroupNumbers]) -> Json:
    """group -> flavor -> resource -> numbers; root is always there, a group without any key is empty."""
    return {ROOT: {}, **{group: report_of(by_key) for group, by_key in sorted(numbers.items())}}


def cycle_as_data(decided: Plan) -> Json:
    """Return what one cycle started and stopped, in the order of the decisions."""
    return {
        "admitted": [start_as_data(each) for each in decided.starts],
        "evicted": [evict_as_data(each) for each in decided.evictions],
    }


def start_as_data(start: Start) -> Json:
    """Return one start."""
    work = start.workload
    return {**_named(work), **flavors_as_data(start.flavors), "tier": start.tier.value}


def _named(work: Workload) -> Json:
    """Return the workload with its kind: objects of different kinds can have equal names."""
    return {"workload": work.key, "kind": work.kind, "group": work.group}


def flavors_as_data(flavors: Flavors) -> Json:
    """`flavors` of a workload with one pod set, `podSets` by name of one with several."""
    if flavors.keys() <= {MAIN_POD_SET}:
        return {"flavors": dict(flavors.get(MAIN_POD_SET, {}))}
    return {"podSets": {name: dict(own) for name, own in flavors.items()}}


def evict_as_data(evict: Evict) -> Json:
    """Return one eviction; `for` is null without a single preemptor."""
    return {
        **_named(evict.workload),
        "reason": evict.reason.value,
        "for": evict.claim.preemptor if evict.claim is not None else None,
        "rule": evict.rule.value,
        "message": evict.message,
    }
