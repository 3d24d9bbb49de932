"""Runs a module as `python -m` does, and notes when some functions of it begin and end.

    python -m benchmarks.profile.moments MODULE [WORD…]

Each line of the file that the environment variable `MOMENTS` names is one moment: nanoseconds since 1970, the module,
what, and of which Job, if the function knows. The functions are wrapped from outside before the module begins.
"""

import os
import re
import runpy
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Final, NamedTuple

from aiohttp.web_protocol import RequestHandler

from reconciler.cycle import CycleRunner
from reconciler.write.executor import Executor
from shared.kube.connect.transport import Call, Transport
from shared.kube.watch.watching import Watch

RUN: Final = ("-m", "benchmarks.profile.moments")
"""What stands for `-m` where a module is to run under this one."""
MOMENTS: Final = "QUOTREE_BENCHMARK_MOMENTS"
PREFIX: Final = "one-"
"""Begins the name of each Job that is looked at."""
_NAME: Final = re.compile(rb'"name":"(' + PREFIX.encode() + rb'\d+)"')
REVIEW_COMES, REVIEW_ANSWERED = "review comes", "review answered"
EVENT_COMES, EVENT_TAKEN = "event comes", "event taken"
CYCLE_BEGINS, CYCLE_DECIDED, STARTS_BEGUN = "cycle begins", "cycle decided", "starts begun"
PATCH_SENT: Final = "patch sent"


class Moment(NamedTuple):
    """When something began or ended, in nanoseconds; `who`: the module; `job`: of which Job, or nothing."""

    at: int
    who: str
    what: str
    job: str = ""


def read_moments(path: Path) -> list[Moment]:
    """Return all that have been noted, in their order."""
    lines = (line.split("\t") for line in path.read_text().splitlines())
    return sorted(Moment(int(at), *words) for at, *words in lines)


@contextmanager
def noting(path: Path) -> Iterator[None]:
    """Let processes that are started meanwhile note in that file."""
    path.touch()
    os.environ[MOMENTS] = str(path)
    try:
        yield
    finally:
        del os.environ[MOMENTS]


def wrap_all(note: Callable[[str, str], None]) -> None:
    """Let the functions call `note` as they begin and end."""
    _wrap_webhook(note)
    take, decide, begin, request = Watch._take, CycleRunner._decide_once, Executor.carry_out, Transport._request

    @wraps(take)
    async def noted_take(self: Watch[Any], lines: Any, chunk: bytes) -> int:
        job = _NAME.search(chunk) if self.resource.plural == "jobs" else None
        if job is None:
            return await take(self, lines, chunk)
        name = job[1].decode()
        note(EVENT_COMES, name)
        found = await take(self, lines, chunk)
        note(EVENT_TAKEN, name)
        return found

    @wraps(decide)
    def noted_decide(self: CycleRunner, *words: Any) -> Any:
        note(CYCLE_BEGINS, "")
        found = decide(self, *words)
        note(CYCLE_DECIDED, "")
        return found

    @wraps(begin)
    def noted_begin(self: Executor, *words: Any) -> None:
        begin(self, *words)
        note(STARTS_BEGUN, "")

    @wraps(request)
    async def noted_request(self: Transport, call: Call, *words: Any) -> Any:
        if call.method == "PATCH" and call.resource.plural == "jobs" and not call.subresource:
            note(PATCH_SENT, call.name or "")
        return await request(self, call, *words)

    Watch._take = noted_take  # type: ignore[method-assign]
    CycleRunner._decide_once = noted_decide  # type: ignore[assignment, method-assign]
    Executor.carry_out = noted_begin  # type: ignore[assignment, method-assign]
    Transport._request = noted_request  # type: ignore[assignment, method-assign]


def _wrap_webhook(note: Callable[[str, str], None]) -> None:
    """From the first bytes that are decrypted to the moment before the answer is written."""
    received: Callable[[RequestHandler, bytes], None] = RequestHandler.data_received
    finish: Callable[..., Awaitable[Any]] = RequestHandler.finish_response

    def noted_received(self: RequestHandler, data: bytes) -> None:
        note(REVIEW_COMES, "")
        received(self, data)

    async def noted_finish(self: RequestHandler, *words: Any) -> Any:
        note(REVIEW_ANSWERED, "")
        return await finish(self, *words)

    RequestHandler.data_received = noted_received  # type: ignore[method-assign]
    RequestHandler.finish_response = noted_finish  # type: ignore[assignment, method-assign]


def main() -> None:
    """Run the module of the command line."""
    file = os.open(os.environ[MOMENTS], os.O_WRONLY | os.O_APPEND)

    def note(what: str, job: str) -> None:
        os.write(file, f"{time.time_ns()}\t{sys.argv[0]}\t{what}\t{job}\n".encode())

    wrap_all(note)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
