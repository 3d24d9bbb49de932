"""A watch: the initial objects, unless the client has them, and then every change, as lines."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

import msgspec

from reconciler.visibility.copies.asking import TooBusy
from reconciler.visibility.front.answers.objects import Answers
from reconciler.visibility.front.answers.selected import Selected, key_of
from reconciler.visibility.front.requests import ReadRequest
from reconciler.visibility.objects.kinds import API_VERSION, EXPLANATION
from reconciler.visibility.objects.tables import table
from shared.json_data import Json

_PERIOD: Final = 1.0
_PERIOD_OF_EXPLANATIONS: Final = 3.0
LONGEST: Final = timedelta(minutes=5)
_encode: Final = msgspec.json.Encoder().encode


async def watch_lines(answers: Answers, request: ReadRequest) -> AsyncIterator[bytes]:
    """The events of a watch until its time is over; an occasional empty line checks that the client is connected."""
    period = _PERIOD_OF_EXPLANATIONS if request.selection.kind is EXPLANATION else _PERIOD
    longest = LONGEST.total_seconds()
    ends = asyncio.get_running_loop().time() + (min(request.seconds, longest) if request.seconds else longest)
    lines = _Lines(request)
    while asyncio.get_running_loop().time() < ends:
        try:
            selected = await answers.select(request.selection)
        except TooBusy:
            selected = None
        if selected is not None:
            for line in lines.next(selected):
                yield line
        await asyncio.sleep(max(0.0, min(period, ends - asyncio.get_running_loop().time())))


class _Lines:
    """The lines of one watch."""

    def __init__(self, request: ReadRequest) -> None:
        self._request = request
        self._before: Selected | None = None
        self._titles = True

    def next(self, selected: Selected) -> list[bytes]:
        """The lines for what has changed since the last call."""
        before, self._before = self._before, selected
        if before is selected:
            return []
        if before is None:
            if selected.version == self._request.version:
                return []
            digests, gone = {}, {}
        else:
            digests, gone = before.digests, {key_of(item): item for item in before.items}
        found = [self._line(kind, item) for kind, item in selected.events_since(digests, gone)]
        return found + ([self._bookmark(selected)] if before is None and self._request.wants_initial else [])

    def _line(self, kind: str, item: Json) -> bytes:
        shown = item
        if self._request.as_table:
            metadata = {"resourceVersion": item["metadata"]["resourceVersion"]}
            shown = table(self._request.selection.kind, [item], metadata, self._request.include, titles=self._titles)
            self._titles = False
        return _encode({"type": kind, "object": shown}) + b"\n"

    def _bookmark(self, selected: Selected) -> bytes:
        metadata = {"resourceVersion": selected.version, "annotations": {"k8s.io/initial-events-end": "true"}}
        shown = {"kind": selected.kind.kind, "apiVersion": API_VERSION, "metadata": metadata}
        return _encode({"type": "BOOKMARK", "object": shown}) + b"\n"
