"""Two balancers in front of replicas, each on a thread of its own: by who is ready, and by which port answers.

Both leave open connections alone, as a Service does.
"""

import asyncio
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.webhook.webhook_process import Replica

FAILURES = 3
"""So many probes in a row, and a replica that was ready is so no more."""


class Balancer:
    """Listens on one port from a thread of its own; `replicas` may change at any time."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.replicas: list[Replica] = []
        self.missed = 0
        """Refused connections: their replica had ended, or there was none."""
        self._ready: list[Replica] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._ended = asyncio.Event()
        self._started = threading.Event()
        self._open: set[asyncio.StreamWriter] = set()

    def start(self) -> None:
        """Listen."""
        self._thread.start()
        self._started.wait(60)

    def stop(self) -> None:
        """Close everything."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(60)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._run())

    async def _run(self) -> None:
        server = await asyncio.start_server(self._carry, "127.0.0.1", self.port)
        probing = asyncio.create_task(self._probe())
        self._started.set()
        await self._ended.wait()
        probing.cancel()
        server.close()
        for writer in self._open:
            writer.transport.abort()
        await asyncio.sleep(0.1)  # a transport is closed in the next turns of the loop

    async def _probe(self) -> None:
        """Probe as often as no kubelet would: the point is that it is late. As a kubelet, it tolerates slow answers."""
        failed: dict[int, int] = {}
        while True:
            asked = list(self.replicas)
            answers = await asyncio.gather(*(asyncio.to_thread(each.is_ready) for each in asked))
            for each, ready in zip(asked, answers, strict=True):
                failed[each.number] = 0 if ready else failed.get(each.number, FAILURES) + 1
            self._ready = [each for each in asked if failed[each.number] < FAILURES]
            await asyncio.sleep(0.3)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = {writer}
        self._open |= ends
        try:
            chosen = random.choice(self._ready)
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", chosen.port)
            ends.add(to_writer)
            self._open |= ends
            await asyncio.gather(_pipe(reader, to_writer), _pipe(to_reader, writer))
        except (IndexError, OSError):
            self.missed += len(ends) == 1
        finally:
            for end in ends:
                end.transport.abort()
            self._open -= ends


class PortBalancer:
    """Passes each new connection to the next replica that takes it; on a thread of its own."""

    def __init__(self) -> None:
        self.ports: list[int] = []
        self.port = 0
        self._turn = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()

    @contextmanager
    def running(self) -> Iterator["PortBalancer"]:
        thread = threading.Thread(target=self._loop.run_forever, name="balancer", daemon=True)
        thread.start()
        server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._pass, "127.0.0.1", 0), self._loop).result(
            9
        )
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(self._close(server), self._loop).result(60)
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(60)
            self._loop.close()

    def cut(self) -> None:
        """End all connections."""

        self._loop.call_soon_threadsafe(self._abort)

    def _abort(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _close(self, server: asyncio.Server) -> None:
        server.close()
        self._abort()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        if tasks:
            await asyncio.wait(tasks, timeout=5)
        await asyncio.sleep(0.1)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = {writer}
        self._writers.add(writer)
        try:
            onward = await self._connect()
            if onward is not None:
                ends.add(onward[1])
                self._writers.add(onward[1])
                await asyncio.gather(_pipe(reader, onward[1]), _pipe(onward[0], writer))
        finally:
            for end in ends:
                end.transport.abort()
            self._writers -= ends

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        for _ in range(len(self.ports)):
            self._turn += 1
            try:
                return await asyncio.open_connection("127.0.0.1", self.ports[self._turn % len(self.ports)])
            except OSError:
                continue
        return None


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    with suppress(OSError):
        writer.close()
