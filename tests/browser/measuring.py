"""How long the page kept its thread busy, from the browser's own trace."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Browser, Page

_TASKS = "disabled-by-default-devtools.timeline"


@dataclass(slots=True)
class Tasks:
    """Tasks of the page's main thread: milliseconds that passed, and milliseconds of processor time, the longest first.

    On a machine that does other things at the same time the first says more about the machine than about the page.
    """

    passed: list[int] = field(default_factory=list)
    computed: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        return f"longest {self.passed[:3]} ms, of processor time {self.computed[:3]} ms"


@contextmanager
def traced(browser: Browser, page: Page) -> Iterator[Tasks]:
    """Record the tasks of the block; they are there after it."""
    found = Tasks()
    browser.start_tracing(page=page, categories=["__metadata", "toplevel", "devtools.timeline", _TASKS])
    yield found
    events = json.loads(browser.stop_tracing())["traceEvents"]
    main = {
        (each["pid"], each["tid"])
        for each in events
        if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"
    }
    tasks = [each for each in events if each["name"] == "RunTask" and (each["pid"], each["tid"]) in main]
    found.passed = sorted((each.get("dur", 0) // 1000 for each in tasks), reverse=True)
    found.computed = sorted((each.get("tdur", 0) // 1000 for each in tasks), reverse=True)
