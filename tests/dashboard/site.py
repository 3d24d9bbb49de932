"""A dashboard served for a test: from frames that the test makes, or as the command serves a real cluster."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import aiohttp
from aiohttp import web

from dashboard.http.guard import PageGuard
from dashboard.http.routes import Routes
from dashboard.view.frame import Frame
from dashboard.view.history import History
from shared.api.quotagroup import QuotaGroupStatus
from shared.cluster.state.observed.projections import GroupStatusRecord
from shared.kube.client import Client
from shared.quota.decide.plan import plan
from shared.quota.measure.inputs.world import World
from shared.quota.measure.snapshot import measure
from shared.quota.outlook.outlook import Outlook
from tests.builders import NOW
from tests.e2e.kubectl_steps import PATIENCE, Asking


def frame_of(
    world: World,
    number: int = 1,
    now: datetime = NOW,
    *,
    complete: bool = True,
    notices: Iterable[str] = (),
    statuses: Mapping[str, QuotaGroupStatus] | None = None,
) -> Frame:
    """The frame of a world; `complete` False: as for a user who does not see everything."""
    outlook = None
    if complete:
        given = measure(world, now)
        outlook = Outlook(given, plan(given))
    records = {
        name: GroupStatusRecord(name, 1, group, (statuses or {}).get(name, QuotaGroupStatus()))
        for name, group in world.tree.groups.items()
    }
    return Frame(number, now, world, records, outlook, tuple(notices))


@dataclass(slots=True)
class ShownFrames:
    """The frames that a test shows, one after another."""

    latest: Frame
    history: History = field(default_factory=History)
    _next: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.history.add(self.latest)

    def show(self, frame: Frame) -> None:
        """From now on this is the latest."""
        self.latest = frame
        self.history.add(frame)
        self._next.set()
        self._next = asyncio.Event()

    async def after(self, number: int) -> Frame:
        """As `Frames.after`."""
        while self.latest.number == number:
            await self._next.wait()
        return self.latest


@dataclass(slots=True)
class Site:
    """A served dashboard, and a session without its token."""

    guard: PageGuard
    frames: ShownFrames
    session: aiohttp.ClientSession

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self.guard.port}"

    @property
    def headers(self) -> dict[str, str]:
        """What the page sends."""
        return {"Authorization": f"Bearer {self.guard.token}"}

    async def get(self, path: str, **query: str | int) -> Any:
        """The JSON of an answer that is a success."""
        async with self.session.get(f"{self.origin}/api/{path}", params=query, headers=self.headers) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()


@asynccontextmanager
async def served(*frames_shown: Frame) -> AsyncIterator[Site]:
    """Serve the last of these frames on a free port, after the others; workloads' recorded events are not asked for."""
    guard, frames = PageGuard(), ShownFrames(frames_shown[0])
    for each in frames_shown[1:]:
        frames.show(each)
    runner = web.AppRunner(Routes(cast("Client", None), frames, guard).application(), shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        guard.port = runner.addresses[0][1]
        async with aiohttp.ClientSession() as session:
            yield Site(guard, frames, session)
    finally:
        await runner.cleanup()


@contextmanager
def commanded(kubeconfig: Path, *words: str) -> Iterator[str]:
    """Run `quotree dashboard` with this kubeconfig; yield the address that it prints."""
    command = [sys.executable, "-m", "cli", "dashboard", f"--kubeconfig={kubeconfig}", *words]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            address = next(filter(None, (re.search(r"http://\S+", line) for line in process.stdout)))[0]
            yield address
        finally:
            process.terminate()


def read_page(address: str, path: str, **query: str) -> Any:
    """What the page at the printed address is told."""
    origin, _, token = address.partition("/#token=")
    asked = urllib.request.Request(
        f"{origin}/api/{path}?{urllib.parse.urlencode(query)}", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.load(answer)


def start(ask: Asking, name: str, group: str, cpu: int) -> None:
    """Submit a Job, and wait until it has started: what an earlier test left may still end."""
    ask.submit(name, group, cpu)
    deadline = time.monotonic() + PATIENCE
    while ask.is_held(name) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not ask.is_held(name)
