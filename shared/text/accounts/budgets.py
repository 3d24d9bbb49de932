"""Says how far a budget is used, from what a group's status has of it, as JSON."""

from collections.abc import Iterable, Iterator

from shared.json_data import Json
from shared.text.times import moment_text


def budget_lines(budgets: Iterable[Json]) -> Iterator[str]:
    """Yield a line for each budget: hours used and allowed, in which period, what follows, and when it is spent."""
    for each in budgets:
        until = f" until {moment_text(each['until'])}" if "until" in each else ""
        yield f"budget of {_what(each)}: {budget_use(each)}{until}; when spent: {each['whenSpent']}; {_end(each)}"


def budget_use(each: Json) -> str:
    """Return what is used of the hours, such as 83.2 of 100 hours for a Month."""
    return f"{each.get('usedHours', '0')} of {each['hours']} hours {_period(each)}"


def larger_budget(each: Json) -> str:
    """Return the budget as it would be written, such as (NoStart) to 120 hours of cpu for a Month."""
    return f"({each['whenSpent']}) to {each['hours']} hours of {_what(each)} {_period(each)}"


def _period(each: Json) -> str:
    return "in all" if each["period"] == "Total" else f"for a {each['period']}"


def _what(each: Json) -> str:
    return f"{each['flavor']}/{each['resource']}" if each.get("flavor") else str(each["resource"])


def _end(each: Json) -> str:
    if "spentAt" in each:
        return f"spent at {moment_text(each['spentAt'])}"
    if "expectedAt" in each:
        return f"at the present use it is spent at {moment_text(each['expectedAt'])}"
    return "at the present use it lasts"
