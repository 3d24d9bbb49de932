"""The tree and the flavors that count at a moment: all that are stored, without what is set aside. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from shared.cluster.state.faults.bisection import finish, least_failing
from shared.cluster.state.faults.register import FLAVOR, GROUP, REASON, Fault, Faults, Subject
from shared.cluster.state.faults.stand_ins import stand_in_group
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.quota.model.flavor import Flavor
from shared.quota.model.in_force import DatedTree
from shared.quota.model.lifecycle import Inactive
from shared.quota.model.rules import inactive_groups
from shared.quota.model.tree import ROOT, Group, Tree


class TreeReading(NamedTuple):
    """The tree that counts, its flavors, and the groups that may start nothing."""

    tree: DatedTree
    flavors: dict[str, Flavor]
    inactive: dict[str, Inactive]


def read_tree(
    records: Mapping[str, GroupStatusRecord],
    stored: Mapping[str, Flavor],
    faults: Faults,
    max_depth: int,
    now: datetime,
) -> TreeReading:
    """Return what is in force at `now`; what cannot be judged is set aside."""
    for kind, names in ((GROUP, records.keys()), (FLAVOR, stored.keys())):
        for gone in faults.of_kind(kind).keys() - names:
            faults.drop(kind, gone)
    flavors = {name: each for name, each in stored.items() if faults.in_place_of(FLAVOR, name, each) is not None}
    groups = _counted(records, faults)

    def judge(chosen: Iterable[Group]) -> TreeReading:
        tree = DatedTree.at(Tree.of(chosen), now)
        return TreeReading(tree, flavors, inactive_groups(tree.in_force, flavors, max_depth))

    try:
        found = judge(groups)
    except Exception as error:
        _set_aside_unjudged(groups, faults, judge, error)
        return read_tree(records, stored, faults, max_depth, now)
    for name, fault in faults.of_kind(GROUP).items():
        found.inactive.update(_inactive_below(found.tree.in_force, name, fault))
    return found


def set_aside_in_tree(faults: Faults, part: Group | Flavor, error: Exception) -> None:
    """Let this group with its subtree, or this flavor, count no more until it changes."""
    if isinstance(part, Group):
        fault = Fault.of(Subject(GROUP, part.name, part.uid), error)
        faults.set_aside(GROUP, part.name, fault, part, stand_in_group(part))
    else:
        faults.set_aside(FLAVOR, part.name, Fault.of(Subject(FLAVOR, part.name), error), part, None)


def _counted(records: Mapping[str, GroupStatusRecord], faults: Faults) -> list[Group]:
    found = (faults.in_place_of(GROUP, name, record.group) for name, record in records.items())
    return [each for each in found if each is not None]


def _set_aside_unjudged(
    groups: Sequence[Group], faults: Faults, judge: Callable[[Iterable[Group]], object], error: Exception
) -> None:
    """Set aside a group on which a rule fails. Raises `error` if no group is responsible."""

    def fails(chosen: Sequence[Group]) -> bool:
        try:
            judge(chosen)
        except Exception:
            return True
        return False

    if not groups or fails(()):
        raise error
    found = finish(least_failing(groups, fails))
    set_aside_in_tree(faults, max(found, key=lambda each: each.name != ROOT), error)


def _inactive_below(tree: Tree, name: str, fault: Fault) -> dict[str, Inactive]:
    """Return why the group starts nothing, and all groups below it."""
    found: dict[str, Inactive] = {}
    for each in tree.subtree(name):
        above = "" if each == name else f"{name} above it: "
        found[each] = Inactive(REASON, f"{above}{fault.message}", not tree.reaches_root(each))
    return found
