"""The objects of the kind GroupExplanation: numbers and counts only, never a workload's name."""

from collections.abc import Sequence

import msgspec

from reconciler.visibility.objects.kinds import API_VERSION, GROUPS, amount_text
from reconciler.visibility.objects.observed import ObservedPlan
from shared.api.quotagroup import BudgetStatus
from shared.json_data import Json
from shared.quota.measure.division_table import division_tables, table_as_data
from shared.text.amendments import timed_text


def group_object(observed: ObservedPlan, name: str, budgets: Sequence[BudgetStatus] = ()) -> Json:
    """Return the object of one group of the tree, with the tables of its runtime, and its budgets."""
    tables = division_tables(observed.snapshot, name)
    more: Json = {"division": [table_as_data(each) for each in tables]}
    if budgets:
        more["budgets"] = msgspec.to_builtins(budgets)
    return _object(observed, name, more)


def listed_group(observed: ObservedPlan, name: str) -> Json:
    """Return the object in a list: without the tables, which have a line for each sibling."""
    return _object(observed, name, {})


def _object(observed: ObservedPlan, name: str, more: Json) -> Json:
    snapshot = observed.snapshot
    tree = snapshot.world.tree
    leaves = [snapshot.leaves[each] for each in tree.leaves_below(name) if each in snapshot.leaves]
    numbers = snapshot.numbers.get(name, {})
    keys = sorted(numbers)
    status: Json = {
        "pending": sum(len(leaf.pending) + len(leaf.aside) for leaf in leaves),
        "admitted": sum(len(leaf.admitted) + len(leaf.evicting) for leaf in leaves),
        "used": ", ".join(f"{amount_text(key.resource, numbers[key].used)} of {key.flavor}" for key in keys),
        "runtime": ", ".join(f"{amount_text(key.resource, numbers[key].runtime)} of {key.flavor}" for key in keys),
        **more,
    }
    past = snapshot.world.past_use.get(name)
    if past:
        status["pastUse"] = [
            {"flavor": key.flavor, "resource": key.resource, "amount": str(amount)}
            for key, amount in sorted(past.items())
        ]
    amended = timed_text(tree[name], snapshot.now)
    if amended:
        status["amended"] = amended
    parent = tree.groups[name].parent
    if parent is not None:
        status["parent"] = parent
    return {
        "apiVersion": API_VERSION,
        "kind": GROUPS.kind,
        "metadata": {"name": name},
        "status": status | observed.stamp(),
    }
