"""Asks copies of the reconciler: one that all questions about lists share for a while, and one for each long question.

A copy makes the reconciler's next decisions slower, because memory that both share is copied when it is written. So
there is at most one for lists in eight seconds, however many ask.
"""

import asyncio
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from reconciler.visibility.copies.questions import ASK, COUNTED, END, FAILED, MAKE_COPY, CopyQuestion, write_question

LASTS: Final = timedelta(seconds=8)
"""How long one copy answers questions about lists."""
LIMIT: Final = timedelta(seconds=8)
_LINE: Final = 1 << 26
"""The longest line that is read."""


class TooBusy(Exception):
    """There is no answer in time, or too many questions are waiting."""


class NotAnswered(Exception):
    """An exception ended the answer; it is in the copy's log."""


@dataclass(frozen=True, slots=True)
class Control:
    """The channel to the reconciler's process, which makes the copies."""

    way: socket.socket

    def tell(self, counted: bytes) -> bool:
        """Send metrics; False: not possible now."""
        try:
            self.way.send(COUNTED + counted)
        except OSError:
            return False
        return True

    async def wait_for_end(self) -> None:
        """Return when the reconciler has ended: it sends nothing on this channel."""
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.add_reader(self.way.fileno(), ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self.way.fileno())

    def make_copy(self) -> "Copy":
        """Request a copy. Raises TooBusy."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        copy = Copy(ours)
        with theirs:
            try:
                socket.send_fds(self.way, [MAKE_COPY], [theirs.fileno()])
            except OSError as error:
                copy.close()
                raise TooBusy from error
        return copy


@dataclass(slots=True, eq=False)
class Copy:
    """One copy, with the cluster as it was when the copy was made."""

    channel: socket.socket
    made: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Make the socket non-blocking: nothing waits for a copy that is slow to read questions."""
        self.channel.setblocking(False)

    def close(self) -> None:
        """Let the copy end once it has answered its questions."""
        self.channel.close()

    async def ask(self, question: CopyQuestion, within: timedelta) -> list[bytes]:
        """Return the lines that arrive in time; complete answers end with END. Raises NotAnswered."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self.channel, [ASK], [theirs.fileno()])
            except OSError:
                ours.close()
                return []
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=_LINE)
        found: list[bytes] = []
        try:
            async with asyncio.timeout(within.total_seconds()):
                writer.write(write_question(question))
                writer.write_eof()
                while (line := await reader.readline()).endswith(b"\n"):
                    if line[:-1] == FAILED:
                        raise NotAnswered
                    found.append(line[:-1])
        except (TimeoutError, ConnectionError):
            pass
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        return found


class SharedCopy:
    """The copy that answers about lists."""

    def __init__(self, control: Control, lasts: timedelta = LASTS) -> None:
        self._control = control
        self._lasts = lasts.total_seconds()
        self._copy: Copy | None = None

    def current(self) -> Copy:
        """Return a copy that is recent enough. Raises TooBusy."""
        if self._copy is not None and time.monotonic() >= self.replaced_at(self._copy):
            self._drop(self._copy)
        if self._copy is None:
            self._copy = self._control.make_copy()
        return self._copy

    def replaced_at(self, copy: Copy) -> float:
        """Return when the copy becomes too old."""
        return copy.made + self._lasts

    async def lines(self, copy: Copy, question: CopyQuestion) -> Sequence[bytes]:
        """Return the complete answer. Raises TooBusy when there is none in time."""
        found = await copy.ask(question, LIMIT)
        if not found or found[-1] != END:
            self._drop(copy)
            raise TooBusy
        return found[:-1]

    def _drop(self, copy: Copy) -> None:
        copy.close()
        if self._copy is copy:
            self._copy = None


class LongQuestions:
    """Asks one question at a time, each with a copy of its own; `rest` is the least time between two."""

    def __init__(
        self, control: Control, *, limit: timedelta, rest: timedelta = timedelta(milliseconds=250), most: int = 16
    ) -> None:
        self._control = control
        self._limit = limit
        self._rest = rest.total_seconds()
        self._most = most
        self._waiting = 0
        self._turn = asyncio.Lock()

    async def best(self, question: CopyQuestion) -> bytes | None:
        """Return the best answer found in time; None: no object has that name. Raises TooBusy."""
        if self._waiting >= self._most:
            raise TooBusy
        self._waiting += 1
        try:
            async with self._turn:
                found = await self._ask(question)
                await asyncio.sleep(self._rest)
        finally:
            self._waiting -= 1
        if not found:
            raise TooBusy
        answers = [line for line in found if line != END]
        return answers[-1] if answers else None

    async def _ask(self, question: CopyQuestion) -> list[bytes]:
        copy = self._control.make_copy()
        try:
            return await copy.ask(question, self._limit)
        finally:
            copy.close()
