"""Who keeps room while idle: guarantees that are not in use. docs/specification.md §3.2 and §3.3."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.quota.measure.snapshot import Snapshot
from shared.resources import Amount, FlavorResource


@dataclass(frozen=True, slots=True)
class IdleGuarantee:
    """A group that keeps `amount` of a key, beyond what it and the groups below it use and keep."""

    group: str
    key: FlavorResource
    amount: Amount


def idle_guarantees(snapshot: Snapshot, group: str, key: FlavorResource) -> Sequence[IdleGuarantee]:
    """Return who keeps room below `group`, most first. Together they are its charge without what it uses.

    Capacity 10; a: min 6, lendingLimit 2, uses 1; b borrows. a keeps 4 and uses 1 of it: nobody else gets the other 3.
    """
    tree = snapshot.world.tree
    found = []
    for name in tree.subtree(group):
        if name == group:
            continue
        numbers = snapshot.numbers.get(name, {}).get(key)
        if numbers is not None and numbers.kept_idle:
            found.append(IdleGuarantee(name, key, numbers.kept_idle))
    return sorted(found, key=lambda each: (-each.amount, each.group))
