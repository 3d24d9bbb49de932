"""One address for several webhook replicas: each connection goes to one that takes it, as a Service's would."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random


class ReplicaBalancer:
    """Listens on `port`, passes bytes on to `behind`. A replica that takes no connections is passed over."""

    def __init__(self, port: int, seed: int) -> None:
        self.behind: list[int] = []
        """The replicas' ports."""
        self.port = port
        self._random = Random(seed)
        self._loop = asyncio.new_event_loop()

    @contextmanager
    def open(self) -> Iterator["ReplicaBalancer"]:
        """At work on a thread of its own."""
        thread = threading.Thread(target=self._loop.run_forever, name="balancer", daemon=True)
        thread.start()
        server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(60)
        try:
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(self._close(server), self._loop).result(60)
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(60)
            self._loop.close()

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._carry, "127.0.0.1", self.port)

    async def _close(self, server: asyncio.Server) -> None:
        server.close()
        open_ones = asyncio.all_tasks() - {asyncio.current_task()}
        for task in open_ones:
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        try:
            for port in self._random.sample(self.behind, len(self.behind)):
                with suppress(OSError):
                    to_reader, to_writer = await asyncio.open_connection("127.0.0.1", port)
                    ends.append(to_writer)
                    await asyncio.gather(_pipe(reader, to_writer), _pipe(to_reader, writer))
                    break
        finally:
            for end in ends:
                end.transport.abort()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.transport.abort()
