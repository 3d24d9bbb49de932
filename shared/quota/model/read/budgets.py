"""Read the budgets of a QuotaGroup; one that cannot be read is left out, and reported with everything else."""

from collections.abc import Iterable, Sequence

from shared.api.json.unread import BAD_FIELD, BAD_QUANTITY, Unread
from shared.api.quotagroup import BudgetSpec
from shared.quota.model.budgets.budget import Budget, BudgetKey, BudgetPeriod, WhenSpent, read_hours
from shared.quota.model.in_force.schedules import read_zone
from shared.resources import QuantityError

_PERIODS = {each.value: each for each in BudgetPeriod}
_CONSEQUENCES = {each.value: each for each in WhenSpent}


def read_budgets(specs: Sequence[BudgetSpec], field: str, found: list[Unread]) -> tuple[Budget, ...]:
    """Return the budgets in their order. `field`: where they stand in the object."""
    read = (_read(spec, f"{field}[{at}]", found) for at, spec in enumerate(specs))
    return tuple(each for each in read if each is not None)


def _read(spec: BudgetSpec, field: str, found: list[Unread]) -> Budget | None:
    period, when_spent = _PERIODS.get(spec.period), _CONSEQUENCES.get(spec.when_spent)
    if period is None:
        found.append(Unread(BAD_FIELD, f"{field}.period", _not_one_of(spec.period, _PERIODS)))
    if when_spent is None:
        found.append(Unread(BAD_FIELD, f"{field}.whenSpent", _not_one_of(spec.when_spent, _CONSEQUENCES)))
    if read_zone(spec.time_zone) is None:
        message = f"is {spec.time_zone[:63]!r}, which is no time zone; write one such as Europe/Berlin"
        found.append(Unread(BAD_FIELD, f"{field}.timeZone", message))
    try:
        hours = read_hours(spec.hours)
    except QuantityError as error:
        found.append(Unread(BAD_QUANTITY, f"{field}.hours", f"hours of {spec.resource[:63]}: {error}"))
        return None
    if period is None or when_spent is None or read_zone(spec.time_zone) is None:
        return None
    return Budget(BudgetKey(spec.resource, spec.flavor, period, spec.time_zone), hours, when_spent)


def _not_one_of(text: str, words: Iterable[str]) -> str:
    return f"is {text[:63]!r}; write one of {', '.join(words)}"
