"""What an edit of a group takes from its siblings: the group's place, its shares of what is left over, its min.

Weights divide what is left over among siblings, and an absent weight is max (specification 3.2), so a larger one leaves
the others less. RBAC knows objects and not fields: who can edit one group could enlarge its part of its parent's quota.

See docs/specification.md §4.4.
"""

from collections.abc import Iterator
from typing import Final

from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import WRITTEN, of_group, shortened
from shared.quota.model.tree import Entry, Group
from shared.resources import FlavorResource, write_quantity

NO_ENTRY: Final = Entry("")


def takes_more(old: Group | None, new: Group) -> bool:
    """Return whether the group takes more from its siblings, or has new siblings. `old` None: it is being created."""
    return any(True for _ in _taken(old, new))


def check_shares(old: Group | None, new: Group, user: str) -> Iterator[Violation]:
    """Who moves a group, or raises its min or its weight (max where no weight is set), can update its parent, too."""
    for field, what in _taken(old, new):
        message = (
            f"{what}, at the expense of the groups beside it; for that, user {shortened(user)} also needs the verb "
            f"update or patch on QuotaGroup {shortened(new.parent or '')}; ask a user who has it"
        )
        yield Violation("TakesFromSiblings", of_group(new.name), field, message)


def _taken(old: Group | None, new: Group) -> Iterator[tuple[str, str]]:
    """Yield the field and the change, for all that the siblings lose by."""
    if new.parent is None:
        return
    if old is not None and old.parent != new.parent:
        yield "spec.parent", f"moves the group from {old.parent} to {new.parent}"
        old = None
    for at, entry in enumerate(new.quotas):
        before = (old.entry(entry.flavor) if old is not None else None) or NO_ENTRY
        for resource in sorted(entry.covered):
            for limit, change in _rises(before, entry, resource):
                yield f"spec.quotas[{at}].{WRITTEN[limit]}", change


def _rises(before: Entry, entry: Entry, resource: str) -> Iterator[tuple[str, str]]:
    """Yield each limit of the resource that rises, with both amounts."""
    low, had = entry.min.get(resource, 0), before.min.get(resource, 0)
    key = FlavorResource(entry.flavor, resource)
    if low > had:
        change = f"raises min of {key} from {write_quantity(resource, had)} to {write_quantity(resource, low)}"
        yield "min", change
    was, now = _weight(before, resource), _weight(entry, resource)
    if now == was or (now is not None and was is not None and now < was):
        return
    limit = "weight" if resource in entry.weight or resource not in entry.max else "max"
    yield limit, f"changes the weight of {key} from {_written(resource, was)} to {_written(resource, now)}"


def _weight(entry: Entry, resource: str) -> int | None:
    """Return the weight, 0 where the entry does not cover the resource; None if it is the max of a group above."""
    if resource not in entry.covered:
        return 0
    return entry.weight.get(resource, entry.max.get(resource))


def _written(resource: str, weight: int | None) -> str:
    return "the max of the group above" if weight is None else write_quantity(resource, weight)
