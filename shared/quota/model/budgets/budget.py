"""A budget of a group: so many hours of a resource in each period, and what follows when they are spent.

Hours of cpu are hours of cores, of memory hours of bytes, of other resources hours of their units.

See docs/specification.md §2.11.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from shared.resources import MAX_AMOUNT, OUT_OF_RANGE, Amount, FlavorResource, QuantityError, parse_number

_NANO: Final = 10**9
_THOUSANDTH: Final = _NANO // 1000
_MILLISECONDS: Final = 3_600_000
"""In an hour."""


class BudgetPeriod(StrEnum):
    """When a budget begins again, at midnight in its time zone. A week begins on Monday."""

    DAY = "Day"
    WEEK = "Week"
    MONTH = "Month"
    QUARTER = "Quarter"
    YEAR = "Year"
    TOTAL = "Total"
    """Never."""


class WhenSpent(StrEnum):
    """What follows when a budget is spent; ordered from least to most."""

    WARN = "Warn"
    NO_BORROW = "NoBorrow"
    """The group keeps within its min of the budget's resource."""
    NO_START = "NoStart"
    DRAIN = "Drain"
    """No workload starts, and what is preemptible is evicted."""


class BudgetKey(NamedTuple):
    """What is counted for a budget. `flavor` empty: every flavor together."""

    resource: str
    flavor: str
    period: BudgetPeriod
    zone: str

    def counts(self, key: FlavorResource) -> bool:
        """Return whether use of that key counts."""
        return key.resource == self.resource and self.flavor in ("", key.flavor)


@dataclass(frozen=True, slots=True)
class Budget:
    """One budget of one group. `hours`: in thousandths."""

    key: BudgetKey
    hours: Amount
    when_spent: WhenSpent = WhenSpent.WARN

    @property
    def identity(self) -> tuple[BudgetKey, WhenSpent]:
        """What no two budgets of a group have in common: what is counted, and what follows."""
        return self.key, self.when_spent

    @property
    def amount(self) -> Amount:
        """What may be used, in base units times milliseconds, as accounts have it."""
        return self.hours * amount_per_hour(self.key.resource) // 1000


def amount_per_hour(resource: str) -> Amount:
    """Return what one hour of the resource is in base units times milliseconds."""
    return _MILLISECONDS * (1000 if resource == "cpu" else 1)


def read_hours(quantity: str | int | float) -> Amount:
    """Return hours in thousandths, rounded up; rules say that they are not negative. Raises QuantityError."""
    if isinstance(quantity, float):
        raise QuantityError(f"{quantity!r} is a number with a point; write it as text, in quotes")
    nano = parse_number(quantity)
    if abs(nano) > MAX_AMOUNT * _NANO:
        raise QuantityError(f"{str(quantity)[:64]} {OUT_OF_RANGE}")
    return -(-nano // _THOUSANDTH)


def write_hours(hours: Amount) -> str:
    """Return hours in thousandths as a person writes them: 1500 is "1.5"."""
    whole, part = divmod(abs(hours), 1000)
    sign = "-" if hours < 0 else ""
    return f"{sign}{whole}.{part:03}".rstrip("0").rstrip(".")


class SpentBudget(NamedTuple):
    """A budget that is spent. `at`, `until`: when, and when its next period begins, in milliseconds since 1970.

    `at` None: it is not known whether it is spent, so that nothing starts. `until` None: it has no next period.
    """

    budget: Budget
    at: int | None
    until: int | None
