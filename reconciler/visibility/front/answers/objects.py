"""The objects that a request selects: requested from copies, cached while current, and shared by all requests."""

import asyncio
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import msgspec

from reconciler.visibility.copies.asking import LASTS, LIMIT, Control, Copy, LongQuestions, SharedCopy
from reconciler.visibility.copies.questions import question_of
from reconciler.visibility.front.answers.forecasts import ListedForecasts, with_forecast
from reconciler.visibility.front.answers.selected import Item, Key, Selected, item_of
from reconciler.visibility.objects.kinds import GROUPS
from reconciler.visibility.objects.selection import Selection
from shared.json_data import Json

FRESH: Final = 1.0
"""Seconds for which an explanation requested by name is reused."""
_MOST_KEPT: Final = 64
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class CopysItems:
    """The items of one copy: each object is read once for all lists that contain it, with the forecast known then."""

    def __init__(self) -> None:
        self.copy: Copy | None = None
        self._items: dict[bytes, Item] = {}

    def of(self, copy: Copy, lines: Iterable[bytes], forecasts: Mapping[Key, Json]) -> list[Item]:
        """Return the objects in these lines of a copy's answer; items of an earlier copy are dropped."""
        if copy is not self.copy:
            self.copy, self._items = copy, {}
        return [self._items.get(line) or self._items.setdefault(line, _item(line, forecasts)) for line in lines]


def _item(line: bytes, forecasts: Mapping[Key, Json]) -> Item:
    return item_of(with_forecast(_decode(line), forecasts))


@dataclass(slots=True)
class Kept:
    """An answer or its task, and how long it is reused."""

    task: asyncio.Task[Selected]
    until: float = math.inf

    def is_good(self, now: float) -> bool:
        """Return whether it can be reused: it is being computed, or was a short time ago without an error."""
        return not self.task.done() or (now < self.until and self.task.exception() is None)


class Answers:
    """Selects objects and combines answers of copies; it computes nothing itself."""

    def __init__(self, control: Control, lasts: timedelta = LASTS) -> None:
        """`lasts`: how long lists are answered by the same copy."""
        self._shared = SharedCopy(control, lasts)
        self._long = LongQuestions(control, limit=LIMIT)
        self._items = CopysItems()
        self._forecasts = ListedForecasts(control)
        self._kept: dict[Selection, Kept] = {}

    async def select(self, selection: Selection) -> Selected:
        """Return the objects, in the order of a list. Raises TooBusy and NotAnswered."""
        now = time.monotonic()
        kept = self._kept.get(selection)
        if kept is None or not kept.is_good(now):
            self._forget(now)
            kept = self._kept[selection] = Kept(asyncio.create_task(self._compute(selection), name="answer"))
        return await asyncio.shield(kept.task)

    def _forget(self, now: float) -> None:
        """Drop expired answers, and the oldest above the maximum."""
        self._kept = {each: kept for each, kept in self._kept.items() if kept.is_good(now)}
        while len(self._kept) >= _MOST_KEPT:
            self._kept.pop(next(iter(self._kept)))

    async def _compute(self, selection: Selection) -> Selected:
        """Ask a copy. A list is given again until a new copy would be asked: before, nothing could be another."""
        question = question_of(selection)
        if selection.is_one_explanation:
            best = await self._long.best(question)
            items = [] if best is None else [item_of(_decode(best))]
            until = time.monotonic() + FRESH
        else:
            copy = self._shared.current()
            lines = await self._shared.lines(copy, question)
            items = self._items.of(copy, lines, {} if selection.kind is GROUPS else self._forecasts.latest())
            until = self._shared.replaced_at(copy)
        if selection in self._kept:
            self._kept[selection].until = until
        return Selected.of(selection.kind, [each[0] for each in items], [each[1] for each in items])
