"""What one group says at a moment: its spec, amended by the override and the windows that are open then.

An amendment replaces the numbers that it names and no others, so neither what a group covers nor what is counted for
its budgets changes with time. An
override is stronger than any window, and a window stronger than those after it in the list. See
docs/specification.md §4.13.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from shared.api.crds.timed import MAX_OVERRIDES, MAX_WINDOWS
from shared.percents import Percent
from shared.quota.model.in_force.schedules import first_span
from shared.quota.model.tree import LIMITS, NO_PERCENTS, NOTHING, Amounts, Entry, Group, Override, Window


@dataclass(frozen=True, slots=True)
class Amendment:
    """An override or a window that is open, since when and until when. `field`: where it stands in the object."""

    field: str
    start: datetime
    end: datetime
    said: Override | Window


def amendments_at(group: Group, now: datetime) -> tuple[Amendment, ...]:
    """Return what amends the group at `now`, the strongest first."""
    return tuple(each for each in amendments_after(group, now) if each.start <= now)


def amendments_after(group: Group, now: datetime) -> Iterator[Amendment]:
    """Yield each override and window of the group as it is open at `now`, or else next, the strongest first.

    Those beyond the number that is allowed count as never open.
    """
    for at, override in enumerate(group.overrides[:MAX_OVERRIDES]):
        if override.start < override.end and now < override.end:
            yield Amendment(f"spec.overrides[{at}]", override.start, override.end, override)
    for at, window in enumerate(group.windows[:MAX_WINDOWS]):
        span = first_span(window.schedule, window.zone, window.duration, now)
        if span is not None:
            yield Amendment(f"spec.windows[{at}]", span.start, span.end, window)


def group_in_force(group: Group, now: datetime) -> Group:
    """Return the group as it is at `now`; the same object if nothing amends it."""
    amended = group
    for amendment in reversed(amendments_at(group, now)):
        amended = amend(amended, amendment.said)
    return amended


def amend(group: Group, said: Override | Window) -> Group:
    """Return the group with what an override or a window says."""
    named = {entry.flavor: entry for entry in said.quotas}
    quotas = tuple(_amended(entry, named.get(entry.flavor)) for entry in group.quotas)
    hours = {each.identity: each for each in said.budgets}
    budgets = tuple(hours.get(each.identity, each) for each in group.budgets)
    return replace(group, quotas=quotas, budgets=budgets, stop_policy=said.stop_policy or group.stop_policy)


def _amended(entry: Entry, named: Entry | None) -> Entry:
    """Return the entry with every amount and percent that the other one names in place of its own.

    A number for what the entry does not cover would change what the group covers: the rules refuse it.
    """
    if named is None:
        return entry
    amounts: dict[str, Amounts] = {}
    percents: dict[str, Mapping[str, Percent]] = {}
    for limit in LIMITS:
        said = named.named(limit) & entry.covered
        amounts[limit] = _replaced(getattr(entry, limit), getattr(named, limit), said)
        percents[limit] = _replaced(entry.percents.get(limit, NOTHING), named.percents.get(limit, NOTHING), said)
    shares = {limit: of_limit for limit, of_limit in percents.items() if of_limit}
    return Entry(entry.flavor, percents=shares or NO_PERCENTS, **amounts)


def _replaced(written: Mapping[str, int], other: Mapping[str, int], said: Collection[str]) -> Mapping[str, int]:
    """Return what is written, without the resources that are said, and of these what the other one has."""
    kept = {name: number for name, number in written.items() if name not in said}
    return kept | {name: number for name, number in other.items() if name in said} if said else written
