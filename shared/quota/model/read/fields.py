"""Fields that several parts of a QuotaGroup have: what cannot be read is left out, and added to `found`."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeVar

from shared.api.crds.entry import NO_FLAVOR
from shared.api.crds.parts import COUNT, NOT_COUNTED
from shared.api.durations import LONGEST, LONGEST_TEXT, read_stored_duration
from shared.api.json.reading import ResourceList
from shared.api.json.unread import BAD_FIELD, BAD_QUANTITY, Unread
from shared.api.names import COUNTED, COUNTS
from shared.api.quotagroup import EntrySpec
from shared.percents import Percent, is_percent, read_percent
from shared.quota.model.tree import DEFAULT_FLAVOR, LIMITS, NO_PERCENTS, NOTHING, WRITTEN, Amounts, Entry
from shared.resources import Amount, QuantityError, read_amount

Word = TypeVar("Word", bound=StrEnum)
_WHOLE: Final = re.compile(COUNT)


def entries_of(specs: Sequence[EntrySpec], field: str, found: list[Unread]) -> tuple[Entry, ...]:
    """Return the entries of a list in `field`; counts that are written among resources of `default` come last."""
    read: list[Entry] = []
    last: list[Entry] = []
    for at, spec in enumerate(specs):
        first, *counts = _parts(_entry_of(spec, f"{field}[{at}]", found))
        read.append(first)
        last.extend(counts)
    return (*read, *last)


def _parts(entry: Entry) -> Iterator[Entry]:
    """Yield the entry without counts, unless it has nothing else, and its counts, if it has any."""
    named = {resource for limit in LIMITS for resource in entry.named(limit)}
    if entry.flavor != DEFAULT_FLAVOR or named.isdisjoint(COUNTED):
        yield entry
        return
    if not named.issubset(COUNTED):
        yield _part(entry, DEFAULT_FLAVOR, lambda resource: resource not in COUNTED)
    yield _part(entry, COUNTS, lambda resource: resource in COUNTED)


def _part(entry: Entry, flavor: str, belongs: Callable[[str], bool]) -> Entry:
    def of(numbers: Mapping[str, int]) -> Mapping[str, int]:
        return {resource: number for resource, number in numbers.items() if belongs(resource)} or NOTHING

    percents = {limit: of_limit for limit, each in entry.percents.items() if (of_limit := of(each))}
    amounts: dict[str, Amounts] = {limit: of(getattr(entry, limit)) for limit in LIMITS}
    return Entry(flavor, percents=percents or NO_PERCENTS, **amounts)


def _entry_of(spec: EntrySpec, field: str, found: list[Unread]) -> Entry:
    if spec.flavor == COUNTS:
        found.append(Unread(BAD_FIELD, f"{field}.flavor", NO_FLAVOR))
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
                amounts[resource] = _read_amount(resource, quantity)
        except QuantityError as error:
            found.append(Unread(BAD_QUANTITY, f"{field}[{resource}]", f"{limit} of {resource}: {error}"))
    return amounts or NOTHING, percents


def _read_amount(resource: str, quantity: int | str) -> Amount:
    if resource in COUNTED and not _WHOLE.fullmatch(str(quantity)):
        raise QuantityError(f"{str(quantity)[:64]} {NOT_COUNTED}")
    return read_amount(resource, quantity)


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
