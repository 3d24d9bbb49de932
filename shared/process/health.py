"""/livez, /readyz and, without authorization, /metrics on plain HTTP.

A process that waits for the API server, or that is draining, is alive.
"""

import asyncio
import errno
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Annotated

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry

from shared.problems import Problem
from shared.telemetry import escape, render_metrics

Check = Callable[[], str | None]
"""None if the check passes, else the problem in one line."""
Port = Annotated[int, msgspec.Meta(ge=0, le=65535)]
_LOOP_BEAT = "event loop"


class HealthSettings(msgspec.Struct, frozen=True, rename="camel"):
    """The port for probes and scrapers. Port 0 takes any free one."""

    host: str = "0.0.0.0"  # noqa: S104 - probes come from the node
    port: Port = 8081
    metrics: bool = True
    """Serve the metrics here, without authorization."""


class Health:
    """Heartbeats and checks that the probes report."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._beats: dict[str, tuple[float, float]] = {}
        self._checks: dict[str, Check] = {}
        self._stopping = False

    def expect_beats(self, name: str, within: timedelta) -> None:
        """From now on, the process is not alive if `beat(name)` is not called for longer."""
        self._beats[name] = (self._now(), within.total_seconds())

    def beat(self, name: str) -> None:
        """Record a heartbeat of `name`."""
        self._beats[name] = (self._now(), self._beats[name][1])

    def add_check(self, name: str, check: Check) -> None:
        """The process is ready only while all checks return None."""
        self._checks[name] = check

    def stopping(self) -> None:
        """Report not ready from now on: requests are no longer answered."""
        self._stopping = True

    def alive(self) -> dict[str, str | None]:
        """Return each heartbeat and its problem."""
        now = self._now()
        return {
            name: f"no heartbeat for {now - last:.0f} s (limit {limit:.0f} s)" if now - last > limit else None
            for name, (last, limit) in self._beats.items()
        }

    def ready(self) -> dict[str, str | None]:
        """Return each check and its problem."""
        answers = {name: check() for name, check in self._checks.items()}
        return {**answers, "shutdown": "the process is stopping"} if self._stopping else answers


@asynccontextmanager
async def serving_health(settings: HealthSettings, health: Health, registry: CollectorRegistry) -> AsyncIterator[int]:
    """Answer probes while the block runs; yields the port. Raises Problem when the port is occupied."""
    app = web.Application()
    app.add_routes(_routes(health))
    if settings.metrics:
        app.add_routes([_metrics(registry)])
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1)
    await runner.setup()
    health.expect_beats(_LOOP_BEAT, timedelta(seconds=10))
    beating = asyncio.create_task(_beat(health), name="heartbeat")
    try:
        await listen(runner, settings.host, settings.port, "health")
        yield int(runner.addresses[0][1])
    finally:
        beating.cancel()
        await runner.cleanup()


def _routes(health: Health) -> list[web.RouteDef]:
    async def livez(request: web.Request) -> web.Response:
        return _answer("livez", health.alive(), request)

    async def readyz(request: web.Request) -> web.Response:
        return _answer("readyz", health.ready(), request)

    return [web.get("/livez", livez), web.get("/readyz", readyz)]


def _metrics(registry: CollectorRegistry) -> web.RouteDef:
    async def metrics(request: web.Request) -> web.Response:
        return await metrics_response(registry, request)

    return web.get("/metrics", metrics)


async def metrics_response(registry: CollectorRegistry, request: web.Request) -> web.Response:
    """Return all metrics, in the format that the scraper prefers; thousands of groups are megabytes, so in a thread."""
    accept = request.headers.get("Accept", "")
    body, content_type = await asyncio.to_thread(render_metrics, registry, accept)
    return web.Response(body=body, headers={"Content-Type": content_type})


async def listen(runner: web.AppRunner, host: str, port: int, purpose: str, **options: object) -> None:
    """Open a port for `purpose`; `options` as for web.TCPSite. Raises Problem."""
    try:
        await web.TCPSite(runner, host, port, **options).start()  # type: ignore[arg-type]
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        reason = "the port is taken by another process" if taken else (error.strerror or str(error))
        raise Problem(f"cannot listen on {host}:{port} for {purpose}: {reason}; set {purpose}.port") from error
    except OverflowError as error:
        raise Problem(f"cannot listen on {host}:{port} for {purpose}: no such port") from error


async def _beat(health: Health) -> None:
    while True:
        health.beat(_LOOP_BEAT)
        await asyncio.sleep(1)


def _answer(name: str, answers: dict[str, str | None], request: web.Request) -> web.Response:
    good = not any(answers.values())
    if good and "verbose" not in request.query:
        return web.Response(text="ok\n")
    lines = [f"[-]{what}: {escape(wrong)}" if wrong else f"[+]{what} ok" for what, wrong in answers.items()]
    lines.append(f"{name} check {'passed' if good else 'failed'}\n")
    return web.Response(text="\n".join(lines), status=200 if good else 503)
