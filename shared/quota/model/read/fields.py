"""Fields that several parts of a QuotaGroup have: what cannot be read is left out, and added to `found`."""

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

from shared.api.durations import LONGEST, LONGEST_TEXT, read_stored_duration
from shared.api.quotagroup import EntrySpec
from shared.api.reading import ResourceList
from shared.api.unread import BAD_FIELD, BAD_QUANTITY, Unread
from shared.quota.model.tree import NOTHING, Amounts, Entry
from shared.resources import QuantityError, read_amount

Word = TypeVar("Word", bound=StrEnum)


def entry_of(spec: EntrySpec, field: str, found: list[Unread]) -> Entry:
    return Entry(
        flavor=spec.flavor,
        min=_amounts(spec.min, field, "min", found),
        max=_amounts(spec.max, field, "max", found),
        borrowing_limit=_amounts(spec.borrowing_limit, field, "borrowingLimit", found),
        lending_limit=_amounts(spec.lending_limit, field, "lendingLimit", found),
        weight=_amounts(spec.weight, field, "weight", found),
    )


def _amounts(quantities: ResourceList, entry: str, limit: str, found: list[Unread]) -> Amounts:
    amounts: dict[str, int] = {}
    for resource, quantity in quantities.items():
        try:
            if isinstance(quantity, float):
                raise QuantityError(f"{quantity!r} is a number with a point; write it as text, in quotes")
            amounts[resource] = read_amount(resource, quantity)
        except QuantityError as error:
            found.append(Unread(BAD_QUANTITY, f"{entry}.{limit}[{resource}]", f"{limit} of {resource}: {error}"))
    return amounts or NOTHING


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
