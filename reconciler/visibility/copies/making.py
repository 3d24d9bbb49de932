"""Copies of this process: made in milliseconds, they share its memory until either side writes.

Decisions continue meanwhile. A copy answers as long as the other end of its channel is open, and never lives longer
than its alarm allows.
"""

import asyncio
import gc
import os
import select
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Final, NoReturn

from reconciler.visibility.copies.questions import END, FAILED
from shared.telemetry import get_logger

AnswerLines = Callable[[bytes], Iterator[bytes]]
"""The lines that answer a question."""

LIFE: Final = timedelta(seconds=16)
"""The maximum life of a copy: the time in which it gets questions, plus the time for the last answer."""
_MOST: Final = 6
_NICENESS: Final = 10
_CHUNK: Final = 1 << 16
_ALL_FILES: Final = 1 << 20

log = get_logger(__name__)


class CopyMaker:
    """Makes copies of this process, up to a maximum at the same time."""

    def __init__(self, answer: AnswerLines, most: int = _MOST) -> None:
        self._answer = answer
        self._most = most
        self._living = 0

    def make(self, channel: socket.socket) -> None:
        """Make a copy that answers on the channel; close the channel if there are too many copies or too little
        memory.
        """
        with channel:
            if self._living >= self._most:
                return
            try:
                child = os.fork()
            except OSError as error:
                log.error("No copy for the visibility API", error=str(error))
                return
            if child == 0:
                _be_the_copy(channel, self._answer)
        self._living += 1
        self._reap_when_it_ends(child)

    def _reap_when_it_ends(self, child: int) -> None:
        process, loop = os.pidfd_open(child), asyncio.get_running_loop()

        def reap() -> None:
            loop.remove_reader(process)
            os.close(process)
            os.waitpid(child, os.WNOHANG)
            self._living -= 1

        loop.add_reader(process, reap)


def _be_the_copy(channel: socket.socket, answer: AnswerLines) -> NoReturn:
    """Use nothing that is shared with the original process: no event loop, no connection, no exit handler."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, LIFE.total_seconds())
        os.closerange(3, channel.fileno())
        os.closerange(channel.fileno() + 1, _ALL_FILES)
        gc.disable()
        os.nice(_NICENESS)
        answer_through(channel, answer)
        code = 0
    finally:
        os._exit(code)


def answer_through(channel: socket.socket, answer: AnswerLines) -> None:
    """Answer until the other end is closed: overlapping questions in turn, a line at a time."""
    channel.setblocking(True)
    is_open, under_way = True, list[Iterator[None]]()
    while is_open or under_way:
        if is_open and (not under_way or select.select([channel], [], [], 0)[0]):
            message, files, _, _ = socket.recv_fds(channel, 1, 1)
            is_open = bool(message)
            under_way += [_answer_on(socket.socket(fileno=each), answer) for each in files]
        under_way = [each for each in under_way if next(each, END) is None]


def _answer_on(stream: socket.socket, answer: AnswerLines) -> Iterator[None]:
    """Read a question and write its answer: a line for each step, until the reader closes."""
    with stream, suppress(ConnectionError):
        stream.setblocking(True)
        try:
            for line in answer(_read_to_end(stream)):
                stream.sendall(line + b"\n")
                yield None
            stream.sendall(END + b"\n")
        except ConnectionError:
            raise
        except Exception:
            stream.sendall(FAILED + b"\n")
            log.exception("Question not answered")


def _read_to_end(stream: socket.socket) -> bytes:
    found = bytearray()
    while chunk := stream.recv(_CHUNK):
        found += chunk
    return bytes(found)
