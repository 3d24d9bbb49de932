"""What an edit of a group takes from its siblings: its place, its shares of what is left over, its min, its budgets.

Weights divide what is left over among siblings, and an absent weight is max (specification 3.2), so a larger one leaves
the others less; with a larger budget the group uses for longer what was left to them. RBAC knows objects and not
fields: who can edit one group could enlarge its part of its parent's quota.

See docs/specification.md §4.4.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from shared.percents import write_percent
from shared.quota.model.budgets.budget import Budget, WhenSpent
from shared.quota.model.budgets.in_force import budget_text, hours_text
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import of_group, placed, shortened
from shared.quota.model.tree import WRITTEN, Entry, Group
from shared.resources import Amount, FlavorResource, write_quantity

NO_ENTRY: Final = Entry("")


def takes_more(old: Group | None, new: Group) -> bool:
    """Return whether the group takes more from its siblings, or has new siblings. `old` None: it is being created."""
    return any(True for _ in _taken(old, new))


def check_shares(old: Group | None, new: Group, user: str) -> Iterator[Violation]:
    """Who moves a group, or raises its min, budget or weight (max where none is set), can update its parent, too."""
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
    if old is not None:
        yield from _larger_budgets(old, new)
    for field, entry in placed(new.quotas):
        before = (old.entry(entry.flavor) if old is not None else None) or NO_ENTRY
        for resource in sorted(entry.covered):
            for limit, change in _rises(before, entry, resource):
                yield f"{field}.{WRITTEN[limit]}", change


def _larger_budgets(old: Group, new: Group) -> Iterator[tuple[str, str]]:
    """Yield each budget from which nothing so strict follows any more, or only after more hours."""
    for budget in old.budgets:
        had, has = _least_hours(old, budget), _least_hours(new, budget)
        is_idle = budget.when_spent is WhenSpent.WARN or budget.hours != had
        if is_idle or (has is not None and has <= budget.hours):
            continue
        written = [each.identity for each in new.budgets]
        what = f"the budget of {budget_text(budget)} ({budget.when_spent.value})"
        if budget.identity not in written:
            yield "spec.budgets", f"takes away {what}"
        elif has is not None:
            more = hours_text(replace(budget, hours=has))
            yield f"spec.budgets[{written.index(budget.identity)}].hours", f"raises {what} to {more}"


def _least_hours(group: Group, budget: Budget) -> Amount | None:
    """Return after how many of these hours something as strict follows in the group; None: never."""
    kinds = list(WhenSpent)
    strict = kinds[kinds.index(budget.when_spent) :]
    same = (each for each in group.budgets if each.key == budget.key and each.when_spent in strict)
    return min((each.hours for each in same), default=None)


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
