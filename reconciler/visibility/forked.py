"""Long computations on the world as it is now, in a child process that the system copies from this one.

Decisions go on meanwhile: the copy is made in milliseconds, shares its memory until either side writes, and is given
the lowest priority. It computes, writes lines to a pipe, and ends; one at a time, and never for longer than the limit.
"""

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Final

Lines = Callable[[], Iterator[bytes]]
"""What the child computes: lines without a line end, each a better answer than the one before."""

_CHUNK: Final = 1 << 16


class TooBusy(Exception):
    """So many computations wait that one more would not be done in time."""


class ForkedWork:
    """Runs one computation at a time; `rest` is the least time between two."""

    def __init__(self, *, limit: timedelta, rest: timedelta, most_waiting: int = 16) -> None:
        self._limit = limit.total_seconds()
        self._rest = rest.total_seconds()
        self._most_waiting = most_waiting
        self._waiting = 0
        self._turn = asyncio.Lock()

    async def run(self, lines: Lines) -> list[bytes]:
        """The lines that were written within the limit. Raises TooBusy."""
        if self._waiting >= self._most_waiting:
            raise TooBusy
        self._waiting += 1
        try:
            async with self._turn:
                try:
                    return await self._fork(lines)
                finally:
                    await asyncio.sleep(self._rest)
        finally:
            self._waiting -= 1

    async def _fork(self, lines: Lines) -> list[bytes]:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            _be_the_child(write, lines, self._limit)
        os.close(write)
        try:
            return await self._read(read)
        finally:
            os.close(read)
            await _end(child)

    async def _read(self, read: int) -> list[bytes]:
        os.set_blocking(read, False)
        loop = asyncio.get_running_loop()
        found = bytearray()
        done = asyncio.Event()

        def take() -> None:
            with suppress(BlockingIOError):
                while chunk := os.read(read, _CHUNK):
                    found.extend(chunk)
                done.set()

        loop.add_reader(read, take)
        try:
            async with asyncio.timeout(self._limit):
                await done.wait()
        except TimeoutError:
            pass
        finally:
            loop.remove_reader(read)
        return bytes(found).split(b"\n")[:-1]


async def _end(child: int) -> None:
    """Kill the child, which has written all that is wanted of it, and wait for its end."""
    ended = asyncio.Event()
    process = os.pidfd_open(child)
    loop = asyncio.get_running_loop()
    loop.add_reader(process, ended.set)
    try:
        os.kill(child, signal.SIGKILL)
        await ended.wait()
    finally:
        loop.remove_reader(process)
        os.close(process)
        _reap(child)


def _reap(child: int) -> None:
    os.waitpid(child, os.WNOHANG)


def _be_the_child(write: int, lines: Lines, limit: float) -> None:
    """Never returns, and touches nothing that it shares with its parent: no loop, no connection, no exit handler."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limit + 1)
        gc.disable()
        os.nice(19)
        for line in lines():
            left = memoryview(line + b"\n")
            while left:
                left = left[os.write(write, left) :]
        code = 0
    finally:
        os._exit(code)
