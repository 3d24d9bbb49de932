"""The objects that a request selects: asked of copies, kept for a second, and the same for all who ask."""

import asyncio
import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

import msgspec

from reconciler.visibility.copies.asking import LASTS, LIMIT, Control, Copy, LongQuestions, SharedCopy
from reconciler.visibility.copies.questions import question_of
from reconciler.visibility.front.selected import Item, Selected, item_of
from reconciler.visibility.objects.selection import Selection

FRESH: Final = 1.0
"""Seconds for which an answer is given again."""
_MOST_KEPT: Final = 64
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class CopysItems:
    """What one copy has said: each object is read once, for whichever lists it is in."""

    def __init__(self) -> None:
        self.copy: Copy | None = None
        self._items: dict[bytes, Item] = {}

    def of(self, copy: Copy, lines: Iterable[bytes]) -> list[Item]:
        """The objects in these lines of a copy's answer; those of a copy before it are forgotten."""
        if copy is not self.copy:
            self.copy, self._items = copy, {}
        return [self._items.get(line) or self._items.setdefault(line, item_of(_decode(line))) for line in lines]


class Answers:
    """Selects objects. Nothing here is computed, but put together."""

    def __init__(self, control: Control, lasts: timedelta = LASTS) -> None:
        """`lasts`: for how long lists are answered by the same copy."""
        self._shared = SharedCopy(control, lasts)
        self._long = LongQuestions(control, limit=LIMIT)
        self._items = CopysItems()
        self._kept: dict[Selection, tuple[float, asyncio.Task[Selected]]] = {}

    async def select(self, selection: Selection) -> Selected:
        """The objects, in the order of a list. Raises TooBusy and NotAnswered."""
        now = time.monotonic()
        known = self._kept.get(selection)
        if known is None or (known[1].done() and (now - known[0] > FRESH or known[1].exception() is not None)):
            self._forget(now)
            known = self._kept[selection] = (now, asyncio.create_task(self._compute(selection), name="answer"))
        return await asyncio.shield(known[1])

    def _forget(self, now: float) -> None:
        """Drop what is not given again, and the oldest of what is too much."""
        self._kept = {each: kept for each, kept in self._kept.items() if not kept[1].done() or now - kept[0] <= FRESH}
        while len(self._kept) >= _MOST_KEPT:
            self._kept.pop(next(iter(self._kept)))

    async def _compute(self, selection: Selection) -> Selected:
        question = question_of(selection)
        if selection.is_one_explanation:
            best = await self._long.best(question)
            items = [] if best is None else [item_of(_decode(best))]
        else:
            copy = self._shared.current()
            items = self._items.of(copy, await self._shared.lines(copy, question))
        found = Selected.of(selection.kind, [each[0] for each in items], [each[1] for each in items])
        if selection in self._kept:
            self._kept[selection] = (time.monotonic(), self._kept[selection][1])
        return found
