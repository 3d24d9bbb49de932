"""Starts the process that serves the visibility API, and makes copies for it. Its failure affects nothing else."""

import asyncio
import socket
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from typing import Final, NoReturn

import msgspec
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from reconciler.visibility.copies.making import CopyMaker
from reconciler.visibility.copies.questions import COUNTED, MAKE_COPY
from reconciler.visibility.front.settings import FrontSettings
from shared.telemetry import get_logger

_PROGRAM: Final = "reconciler.visibility.front"
_FIRST_PAUSE: Final = timedelta(seconds=1)
_LONGEST_PAUSE: Final = timedelta(seconds=30)
_TO_END: Final = timedelta(seconds=2)
_MESSAGE: Final = 1 << 17

log = get_logger(__name__)


class Visibility:
    """The API of one replica, served by a process of its own."""

    def __init__(self, settings: FrontSettings, copies: CopyMaker, registry: CollectorRegistry) -> None:
        self._settings = settings
        self._copies = copies
        self._counted = CountedElsewhere()
        registry.register(self._counted)

    async def run(self) -> NoReturn:
        """Keep it running indefinitely. An exception ends only that process: decisions continue."""
        pause = _FIRST_PAUSE
        while True:
            began = asyncio.get_running_loop().time()
            try:
                await self._run_once()
            except OSError as error:
                log.error("The process of the visibility API cannot be started", error=str(error))
            lasted = timedelta(seconds=asyncio.get_running_loop().time() - began)
            pause = _FIRST_PAUSE if lasted > _LONGEST_PAUSE else min(pause * 2, _LONGEST_PAUSE)
            log.error("The process of the visibility API ended", again_in=pause.total_seconds())
            await asyncio.sleep(pause.total_seconds())

    async def _run_once(self) -> None:
        """Start it, and return when it has ended; on cancellation, end it."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        loop = asyncio.get_running_loop()
        with ours:
            ours.setblocking(False)
            with theirs:
                words = (str(theirs.fileno()), msgspec.json.encode(self._settings).decode())
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", _PROGRAM, *words, pass_fds=[theirs.fileno()], stdin=asyncio.subprocess.DEVNULL
                )
            loop.add_reader(ours.fileno(), self._hear, ours)
            try:
                await process.wait()
            finally:
                loop.remove_reader(ours.fileno())
                await _end(process)

    def _hear(self, way: socket.socket) -> None:
        try:
            message, files, _, _ = socket.recv_fds(way, _MESSAGE, 1)
        except OSError:
            return
        if message == MAKE_COPY and files:
            self._copies.make(socket.socket(fileno=files[0]))
        elif message.startswith(COUNTED):
            self._counted.text = message.removeprefix(COUNTED).decode()
        elif not message:
            asyncio.get_running_loop().remove_reader(way.fileno())


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
        try:
            async with asyncio.timeout(_TO_END.total_seconds()):
                await process.wait()
        except TimeoutError:
            process.kill()


class CountedElsewhere(Collector):
    """The last metrics reported by another process."""

    def __init__(self) -> None:
        self.text = ""

    def collect(self) -> Iterable[Metric]:
        """Yield them for the registry of this process."""
        return text_string_to_metric_families(self.text)
