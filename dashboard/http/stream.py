"""The stream of changes: server-sent events, each with the groups' lines that differ from what this page has.

A page that reads slowly gets fewer events, never older ones: what it misses is in the next.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Final, Protocol

import msgspec
from aiohttp import web

from dashboard.http.guard import HEADERS, RequestGuard
from dashboard.view.frame import Frame
from dashboard.view.history import History
from dashboard.view.tree import TreeLines

_ALIVE: Final = timedelta(seconds=3)
"""The maximum time between two lines: a page that hears nothing for longer says that it is not live."""


class FrameSource(Protocol):
    """Provides frames."""

    history: History

    @property
    def latest(self) -> Frame:
        """The latest frame."""

    async def after(self, number: int) -> Frame:
        """Return the latest frame as soon as it differs from `number`."""


async def stream(request: web.Request, frames: FrameSource, tree: TreeLines, guard: RequestGuard) -> web.StreamResponse:
    """Send events until the page is closed or its user loses the right."""
    response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
    await response.prepare(request)
    with suppress(ConnectionResetError):
        await _write_events(request, response, frames, tree, guard)
    return response


async def _write_events(
    request: web.Request, response: web.StreamResponse, frames: FrameSource, tree: TreeLines, guard: RequestGuard
) -> None:
    """Write until the page is closed. Raises ConnectionResetError then."""
    has: Mapping[str, bytes] = {}
    number = -1
    while await guard.still_answers(request):
        try:
            frame = await asyncio.wait_for(frames.after(number), _ALIVE.total_seconds())
        except TimeoutError:
            await response.write(b": alive\n\n")
            continue
        lines = dict(tree.show(frame))
        await response.write(event(frame, has, lines))
        has, number = lines, frame.number


def event(frame: Frame, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> bytes:
    """Return the event that changes one set of lines into the other."""
    changed = [msgspec.Raw(line) for name, line in after.items() if before.get(name) is not line]
    data = msgspec.json.encode(
        {
            "frame": frame.number,
            "now": frame.now.isoformat(),
            "complete": frame.outlook is not None,
            "loading": frame.loading,
            "notices": frame.notices,
            "stale": frame.standing,
            "leaderless": frame.leaderless_since.isoformat() if frame.leaderless_since is not None else None,
            "rows": changed,
            "gone": sorted(before.keys() - after.keys()),
        }
    )
    return b"data: " + data + b"\n\n"
