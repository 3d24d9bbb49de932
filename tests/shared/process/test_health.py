"""Probes and scrapers are told the truth, on a port that is theirs."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter

from shared.problems import Problem
from shared.process.health import Health, HealthSettings, serving_health

LOCAL = HealthSettings("127.0.0.1", 0)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def asking(health: Health, registry: CollectorRegistry) -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        serving_health(LOCAL, health, registry) as port,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
    ):
        yield session


async def ask(session: aiohttp.ClientSession, path: str) -> tuple[int, str]:
    async with session.get(path) as answer:
        return answer.status, await answer.text()


async def test_process_is_ready_while_every_check_passes() -> None:
    health = Health()
    troubles: list[str] = []
    health.add_check("watches", lambda: troubles[0] if troubles else None)
    health.add_check("certificate", lambda: None)
    async with asking(health, CollectorRegistry()) as session:
        assert await ask(session, "/readyz") == (200, "ok\n")
        assert await ask(session, "/readyz?verbose") == (200, "[+]watches ok\n[+]certificate ok\nreadyz check passed\n")
        troubles.append("watch of jobs has not synced: \x1b[31mred")
        refusal = "[-]watches: watch of jobs has not synced: \\x1b[31mred\n[+]certificate ok\nreadyz check failed\n"
        assert await ask(session, "/readyz") == (503, refusal)
        troubles.clear()
        health.stopping()
        message = "[+]watches ok\n[+]certificate ok\n[-]shutdown: the process is stopping\nreadyz check failed\n"
        assert await ask(session, "/readyz") == (503, message)
        assert await ask(session, "/livez") == (200, "ok\n")


async def test_process_is_alive_while_every_heartbeat_arrives() -> None:
    clock = Clock()
    health = Health(clock)
    async with asking(health, CollectorRegistry()) as session:
        health.expect_beats("cycle", timedelta(seconds=30))
        assert await ask(session, "/livez?verbose") == (200, "[+]event loop ok\n[+]cycle ok\nlivez check passed\n")
        clock.now += 31
        await asyncio.sleep(1.2)
        message = "[+]event loop ok\n[-]cycle: no heartbeat for 31 s (limit 30 s)\nlivez check failed\n"
        assert await ask(session, "/livez") == (503, message)
        health.beat("cycle")
        assert await ask(session, "/livez") == (200, "ok\n")


async def test_metrics_are_served_in_the_requested_format() -> None:
    registry = CollectorRegistry()
    Counter("things", "Things.", registry=registry).inc(3)
    async with asking(Health(), registry) as session:
        status, text = await ask(session, "/metrics")
        assert status == 200
        assert "\nthings_total 3.0\n" in text
        headers = {"Accept": "application/openmetrics-text; version=1.0.0"}
        async with session.get("/metrics", headers=headers) as answer:
            assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
            assert (await answer.text()).endswith("# EOF\n")
        assert (await ask(session, "/other"))[0] == 404


async def test_occupied_port_is_reported_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Problem) as caught:
            async with serving_health(HealthSettings("127.0.0.1", port), Health(), CollectorRegistry()):
                pass
    assert str(caught.value) == (
        f"cannot listen on 127.0.0.1:{port} for health: the port is taken by another process; set health.port"
    )
