"""When what waits will start, for lists: a copy of its own computes it once in a while, and no list waits for it."""

import asyncio
import math
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec

from reconciler.visibility.copies.asking import Control, LongQuestions, NotAnswered, TooBusy
from reconciler.visibility.copies.questions import CopyQuestion
from reconciler.visibility.front.answers.selected import Key
from shared.json_data import Json

REST: Final = timedelta(seconds=10)
"""How long forecasts are shown, at least, before a list has them computed again."""
SHARE: Final = 20
"""Forecasts are shown for so many times as long as it took to compute them: they take this part of one core at most."""
LIMIT: Final = timedelta(seconds=15)
"""How long computing them all may take: about as long as a copy lives."""
_decode: Final = msgspec.json.Decoder(dict[str, dict[str, dict[str, Any]]]).decode
"""The answer of a copy: namespace → name → forecast."""


class ListedForecasts:
    """The forecasts of all that waits, as they were computed last."""

    def __init__(self, control: Control, rest: timedelta = REST) -> None:
        self._questions = LongQuestions(control, limit=LIMIT)
        self._rest = rest.total_seconds()
        self._known: Mapping[Key, Json] = {}
        self._due = -math.inf
        self._computing: asyncio.Task[None] | None = None

    def latest(self) -> Mapping[Key, Json]:
        """Return what is known now; where that is old, have it computed for later lists."""
        is_computing = self._computing is not None and not self._computing.done()
        if not is_computing and time.monotonic() >= self._due:
            self._computing = asyncio.create_task(self._compute(), name="forecasts for lists")
        return self._known

    async def _compute(self) -> None:
        began = time.monotonic()
        try:
            found = await self._questions.best(CopyQuestion(forecasts=True))
            decoded = _decode(found or b"{}")
            self._known = {(space, name): each for space, own in decoded.items() for name, each in own.items()}
        except (TooBusy, NotAnswered):
            self._known = {}
        finally:
            ended = time.monotonic()
            self._due = ended + max(self._rest, SHARE * (ended - began))


def with_forecast(item: Json, known: Mapping[Key, Json]) -> Json:
    """Return the object of a workload with its forecast, where there is one."""
    metadata = item["metadata"]
    found = known.get((metadata.get("namespace", ""), metadata["name"]))
    return item if found is None else item | {"status": item["status"] | {"forecast": found}}
