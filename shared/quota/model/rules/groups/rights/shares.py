"""What an edit of a group takes from its siblings: the group's place, its shares of what is left over, its min.

Weights divide what is left over among siblings, and an absent weight is max (specification 3.2), so a larger one leaves
the others less. RBAC knows objects and not fields: who can edit one group could enlarge its part of its parent's quota.

See docs/specification.md §4.4.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from shared.percents import write_percent
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import of_group, placed, shortened
from shared.quota.model.tree import WRITTEN, Entry, Group
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
    for field, entry in placed(new.quotas):
        before = (old.entry(entry.flavor) if old is not None else None) or NO_ENTRY
        for resource in sorted(entry.covered):
            for limit, change in _rises(before, entry, resource):
                yield f"{field}.{WRITTEN[limit]}", change


def _rises(before: Entry, entry: Entry, resource: str) -> Iterator[tuple[str, str]]:
    """Yield each limit of the resource that rises, with both amounts."""
    key = FlavorResource(entry.flavor, resource)
    had, low = _written(before, "min", resource) or _NONE, _written(entry, "min", resource) or _NONE
    if had.is_less_than(low):
        yield "min", f"raises min of {key} from {had.text(resource)} to {low.text(resource)}"
    was, now = _weight(before, resource), _weight(entry, resource)
    if now == was or (now is not None and was is not None and not was.is_less_than(now)):
        return
    limit = "weight" if now == _written(entry, "weight", resource) or resource not in entry.named("max") else "max"
    yield limit, f"changes the weight of {key} from {_text(resource, was)} to {_text(resource, now)}"


class _Limit(NamedTuple):
    """A limit as it is written: an amount, or a percent."""

    number: int
    is_percent: bool = False

    def is_less_than(self, other: "_Limit") -> bool:
        """Return whether the other one is more, or could be: between an amount and a percent nodes decide."""
        if self.is_percent == other.is_percent or other.number == 0:
            return self.number < other.number
        return True

    def text(self, resource: str) -> str:
        """Return it as a person writes it."""
        return write_percent(self.number) if self.is_percent else write_quantity(resource, self.number)


_NONE: Final = _Limit(0)


def _written(entry: Entry, limit: str, resource: str) -> _Limit | None:
    percent = entry.percent(limit, resource)
    if percent is not None:
        return _Limit(percent, is_percent=True)
    amount = getattr(entry, limit).get(resource)
    return None if amount is None else _Limit(amount)


def _weight(entry: Entry, resource: str) -> _Limit | None:
    """Return the weight, 0 where the entry does not cover the resource; None if it is the max of a group above."""
    if resource not in entry.covered:
        return _NONE
    return _written(entry, "weight", resource) or _written(entry, "max", resource)


def _text(resource: str, weight: _Limit | None) -> str:
    return "the max of the group above" if weight is None else weight.text(resource)
