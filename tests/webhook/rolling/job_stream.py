"""Jobs created at a steady pace over many connections, and what became of every single one."""

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from dev.controlplane.cluster import ControlPlane
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.errors import ApiError
from shared.kube.resources import JOBS
from tests.webhook.webhook_process import job_body, wait_for


@dataclass(slots=True)
class Traffic:
    """`rate` creations a second, started in time as long as one of `connections` is free; an answer is never missed."""

    control_plane: ControlPlane
    prefix: str
    rate: float = 40
    connections: int = 8
    group: str = "any"
    labels: Mapping[str, str] = field(default_factory=dict)
    created: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """What was said instead, or that a Job was created unheld."""
    seconds: float = 0
    slowest: float = 0
    """The longest that a creation took."""
    _asked: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def flowing(self) -> Iterator[None]:
        """While the block runs, on a thread of its own; at its end everything is answered."""
        thread = threading.Thread(target=asyncio.run, args=(self._run(),), name=self.prefix)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join(90)
            assert not thread.is_alive(), "an answer is missing"

    @property
    def achieved(self) -> float:
        """Creations a second that were answered."""
        return (len(self.created) + len(self.refused)) / self.seconds

    def wait_for_more(self, many: int) -> None:
        """Wait until that many more have been created."""
        enough = len(self.created) + many
        wait_for(lambda: len(self.created) >= enough, "Jobs go on")

    def lost(self) -> list[str]:
        """The Jobs that were answered as created and are not stored as held."""
        found = self.control_plane.get("jobs", "-n", "default", "-l", f"traffic={self.prefix}")["items"]
        held = {each["metadata"]["name"] for each in found if each["spec"]["suspend"]}
        return [name for name in self.created if name not in held]

    async def _run(self) -> None:
        began = time.monotonic()
        async with connected(ConnectionSettings(kubeconfig=str(self.control_plane.kubeconfig))) as connection:
            client = Client(connection, concurrency=self.connections, timeout=timedelta(minutes=1))
            await asyncio.gather(*(self._ask(client, time.monotonic()) for _ in range(self.connections)))
        self.seconds = time.monotonic() - began

    async def _ask(self, client: Client, began: float) -> None:
        while not self._stop.is_set():
            self._asked += 1
            name = f"{self.prefix}-{self._asked}"
            await asyncio.sleep(began + self._asked / self.rate - time.monotonic())
            sent = time.monotonic()
            body = job_body(name, self.group, labels={"traffic": self.prefix, **self.labels})
            try:
                made = await client.create(JOBS, body, "default", into=dict[str, Any])
            except ApiError as error:
                self.refused.append(f"{name}: {error}")
            else:
                (self.created if made["spec"]["suspend"] else self.refused).append(name)
            self.slowest = max(self.slowest, time.monotonic() - sent)
