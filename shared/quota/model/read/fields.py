"""Fields that several parts of a QuotaGroup have: what cannot be read is left out, and added to `found`."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

from shared.api.durations import LONGEST, LONGEST_TEXT, read_stored_duration
from shared.api.json.reading import ResourceList
from shared.api.json.unread import BAD_FIELD, BAD_QUANTITY, Unread
from shared.api.quotagroup import EntrySpec
from shared.percents import Percent, is_percent, read_percent
from shared.quota.model.tree import NO_PERCENTS, NOTHING, WRITTEN, Amounts, Entry
from shared.resources import QuantityError, read_amount

Word = TypeVar("Word", bound=StrEnum)


def entry_of(spec: EntrySpec, field: str, found: list[Unread]) -> Entry:
    written = {
        "min": spec.min,
        "max": spec.max,
        "borrowing_limit": spec.borrowing_limit,
        "lending_limit": spec.lending_limit,
        "weight": spec.weight,
    }
    amounts: dict[str, Amounts] = {}
    percents: dict[str, Mapping[str, Percent]] = {}
    for limit, quantities in written.items():
        amounts[limit], of_limit = _amounts(quantities, f"{field}.{WRITTEN[limit]}", WRITTEN[limit], found)
        if of_limit:
            percents[limit] = of_limit
    return Entry(flavor=spec.flavor, percents=percents or NO_PERCENTS, **amounts)


def _amounts(
    quantities: ResourceList, field: str, limit: str, found: list[Unread]
) -> tuple[Amounts, dict[str, Percent]]:
    """Return the amounts and the percents."""
    amounts: dict[str, int] = {}
    percents: dict[str, Percent] = {}
    for resource, quantity in quantities.items():
        try:
            if isinstance(quantity, float):
                raise QuantityError(f"{quantity!r} is a number with a point; write it as text, in quotes")
            if is_percent(quantity):
                percents[resource] = read_percent(str(quantity))
            else:
                amounts[resource] = read_amount(resource, quantity)
        except QuantityError as error:
            found.append(Unread(BAD_QUANTITY, f"{field}[{resource}]", f"{limit} of {resource}: {error}"))
    return amounts or NOTHING, percents


def word_of(text: str | None, words: Iterable[Word], field: str, found: list[Unread]) -> Word | None:
    if text is None:
        return None
    word = next((each for each in words if each.value == text), None)
    if word is None:
        found.append(Unread(BAD_FIELD, field, f"is {text!r}; write one of {', '.join(words)}"))
    return word


def duration_of(text: str | None, field: str, found: list[Unread]) -> timedelta | None:
    if text is None:
        return None
    duration = read_stored_duration(text)
    if duration is None:
        found.append(Unread(BAD_FIELD, field, f"is {text!r}; write a duration such as 30s, 5m or 1h30m"))
        return None
    if duration > LONGEST:
        found.append(Unread(BAD_FIELD, field, f"is {text!r}, longer than 100 years; write at most {LONGEST_TEXT}"))
    return min(duration, LONGEST)
