"""A browser for all tests, and a dashboard served beside the test."""

import asyncio
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from dashboard.view.frame import Frame
from tests.dashboard.conftest import ask, quotree, tenant
from tests.dashboard.site import Site, served
from tests.summary import note, write_notes

__all__ = ["ask", "browser", "quotree", "strict", "tenant"]

_NAMES = ("chromium", "chromium-browser", "google-chrome")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    write_notes(terminalreporter, config)


@pytest.fixture(scope="session")
def browser(pytestconfig: pytest.Config) -> Iterator[Browser]:
    """Chromium of the machine, or the one that CHROMIUM names."""
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        text = "!!! SKIPPED: no Chromium here (Debian: apt-get install chromium), so no page was seen in a browser"
        note(pytestconfig, text)
        pytest.skip(text)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@dataclass(slots=True)
class Shown:
    """A dashboard that runs in a thread, and shows the frames that the test gives it."""

    site: Site
    loop: asyncio.AbstractEventLoop

    @property
    def address(self) -> str:
        """With the token."""
        return self.site.guard.address

    def hold_still(self, seconds: float) -> None:
        """Let the process do nothing for a while."""
        self.loop.call_soon_threadsafe(time.sleep, seconds)

    def show(self, frame: Frame) -> None:
        """From now on this is the latest frame."""
        self.loop.call_soon_threadsafe(self.site.frames.show, frame)


@contextmanager
def shown(*frames: Frame) -> Iterator[Shown]:
    """Serve the last of these frames, after the others, until the end of the block."""
    ready: list[Shown] = []
    began, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with served(*frames) as site:
            ready.append(Shown(site, asyncio.get_running_loop()))
            began.set()
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert began.wait(60)
    try:
        yield ready[0]
    finally:
        ready[0].loop.call_soon_threadsafe(over.set)
        thread.join()


class Strict:
    """Pages of a test; whatever a page complains of in its console fails the test."""

    def __init__(self, browser: Browser) -> None:
        self.complaints: list[str] = []
        self._browser = browser
        self._contexts: list[BrowserContext] = []

    def open(
        self, address: str, scheme: str = "light", width: int = 1200, height: int = 800, at: datetime | None = None
    ) -> Page:
        """Open the address in a context of its own, whose clock stands at this time, if one is given."""
        size = {"width": width, "height": height}
        context = self._browser.new_context(viewport=size, color_scheme=scheme, locale="en-GB", timezone_id="UTC")  # type: ignore[arg-type]
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))
        if at is not None:
            page.clock.set_fixed_time(at)
        page.goto(address)
        return page

    def _hear(self, message: ConsoleMessage) -> None:
        # That a page of the test asks for what is not there, or outlives its server, is no complaint about the page.
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            self.complaints.append(message.text)

    def close(self) -> None:
        """Close all pages."""
        for each in self._contexts:
            each.close()


@pytest.fixture
def strict(browser: Browser) -> Iterator[Strict]:
    """Opens pages, and fails the test for what they complain of."""
    pages = Strict(browser)
    yield pages
    pages.close()
    assert pages.complaints == []
