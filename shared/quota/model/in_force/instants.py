"""At which moments it is enough to look, to have looked at all: one for each set of amendments that are open together.

All borders of overrides count, those of windows for `HORIZON`, and the next opening of a window that opens later. So a
pattern of windows that repeats every day, week or year, daylight saving included, is looked at as a whole; days of a
month that meet days of a week only in later years are not. See docs/specification.md §4.13.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from shared.api.crds.timed import MAX_OVERRIDES, MAX_WINDOWS
from shared.api.durations import later
from shared.quota.model.in_force.schedules import Span, spans_until
from shared.quota.model.tree import Group

HORIZON: Final = timedelta(days=400)
MOST: Final = 1000
"""So many moments are judged. An edit that makes more of them is refused: at the last of them it could break a rule."""


def instants(groups: Iterable[Group], now: datetime, until: datetime | None = None) -> list[datetime]:
    """Return `now` and the first moment of every other set of amendments of these groups; `until`: in place of HORIZON.

    Amendments of several groups with the same times count as one. Of more than MOST moments the first ones, and one
    more.
    """
    last = later(now, HORIZON) if until is None else until
    toggled: dict[datetime, int] = {}
    opened = 0
    for at, item in enumerate(_distinct(groups)):
        for span in _spans(item, now, last):
            if span.start <= now:
                opened ^= 1 << at
            else:
                toggled[span.start] = toggled.get(span.start, 0) ^ 1 << at
            toggled[span.end] = toggled.get(span.end, 0) ^ 1 << at
    seen, found = {opened}, [now]
    for moment in sorted(toggled):
        opened ^= toggled[moment]
        if opened not in seen and (until is None or moment <= until):
            seen.add(opened)
            found.append(moment)
        if len(found) > MOST:
            break
    return found


def _distinct(groups: Iterable[Group]) -> Iterator[tuple[str, str, timedelta] | Span]:
    """Yield the times of each override and window, each once."""
    times: dict[tuple[str, str, timedelta] | Span, None] = {}
    for group in groups:
        times |= dict.fromkeys(Span(each.start, each.end) for each in group.overrides[:MAX_OVERRIDES])
        times |= dict.fromkeys((each.schedule, each.zone, each.duration) for each in group.windows[:MAX_WINDOWS])
    return iter(times)


def _spans(item: tuple[str, str, timedelta] | Span, now: datetime, until: datetime) -> Iterable[Span]:
    if isinstance(item, Span):
        return (item,) if item.start < item.end and item.end > now else ()
    return spans_until(*item, now, until)
