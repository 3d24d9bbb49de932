"""Who lends and who borrows among the children of one group: what flows through its pool, for one flavor and resource.

Quota is not lent by name: what one leaves idle serves all who need it. So the picture has one pool, filled from the
left and used on the right:

    a min 4 uses 1; b min 2 uses 4; the parent has 8: a leaves 3, 2 are promised to nobody; b borrows 2, 3 stay idle.
"""

from collections.abc import Mapping

from shared.json_data import Json
from shared.quota.measure.group_usage import NO_NUMBERS
from shared.quota.model.tree import ROOT, SYSTEM
from shared.quota.outlook.outlook import Outlook
from shared.resources import Amount, FlavorResource
from shared.text.quantities import readable


def pools_of(outlook: Outlook, parent: str, only: FlavorResource | None = None) -> list[Json]:
    """Return the pool of each flavor and resource that one of the children has, or of `only` one."""
    tree = outlook.given.world.tree
    children = [name for name in tree.children(parent) if name != SYSTEM and name in outlook.given.numbers]
    keys = [only] if only else sorted({key for name in children for key in outlook.given.numbers[name]})
    pools = (_pool(outlook, parent, children, key) for key in keys)
    return [each for each in pools if each["lenders"] or each["borrowers"]]


def _pool(outlook: Outlook, parent: str, children: list[str], key: FlavorResource) -> Json:
    numbers = {name: outlook.given.numbers[name].get(key, NO_NUMBERS) for name in children}
    own = outlook.given.numbers.get(parent, {}).get(key, NO_NUMBERS)
    promised = sum(each.effective_min for each in numbers.values())
    lenders = {name: each.lendable for name, each in numbers.items() if each.lendable}
    free = max(0, (own.runtime if parent == ROOT else own.effective_min) - promised)
    above = own.borrowed if parent != ROOT else 0
    borrowers = {name: each.borrowed for name, each in numbers.items() if each.borrowed}
    idle = max(0, sum(lenders.values()) + free + above - sum(borrowers.values()))
    return {
        "parent": parent,
        "flavor": key.flavor,
        "resource": key.resource,
        "lenders": _sides(key.resource, {"promised to no group": free, "borrowed from above": above}, lenders),
        "borrowers": _sides(key.resource, {"idle": idle}, borrowers),
    }


def _sides(resource: str, beside: Mapping[str, Amount], groups: Mapping[str, Amount]) -> list[Json]:
    """Return the groups, the largest first, and after them what belongs to no group."""
    ordered = sorted(groups.items(), key=lambda each: (-each[1], each[0]))
    found = [_side(resource, amount, group=name, label=name) for name, amount in ordered]
    return found + [_side(resource, amount, group="", label=label) for label, amount in beside.items() if amount]


def _side(resource: str, amount: Amount, *, group: str, label: str) -> Json:
    return {"group": group, "label": label, "amount": amount, "text": readable(resource, amount)}
