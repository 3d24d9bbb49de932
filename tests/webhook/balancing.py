"""What a Service does with the replicas: new connections to those that are ready, open ones left alone."""

import asyncio
import random
import threading
from contextlib import suppress

from tests.webhook.running import Replica


class Balancer:
    """Listens on one port from a thread of its own; `replicas` may change at any time."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.replicas: list[Replica] = []
        self.missed = 0
        """Connections that nobody took: it went to a replica that had ended, or there was none."""
        self._ready: list[Replica] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._ended = asyncio.Event()
        self._started = threading.Event()
        self._open: set[asyncio.StreamWriter] = set()

    def start(self) -> None:
        """Listen."""
        self._thread.start()
        self._started.wait(10)

    def stop(self) -> None:
        """Close everything."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(10)

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
        """As often as a kubelet would not: the point is that it is late."""
        while True:
            asked = list(self.replicas)
            answers = await asyncio.gather(*(asyncio.to_thread(each.is_ready) for each in asked))
            self._ready = [each for each, ready in zip(asked, answers, strict=True) if ready]
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


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    with suppress(OSError):
        writer.close()
