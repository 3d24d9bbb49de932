"""The proxy injects the configured faults into the configured requests, and the same ones for the same seed."""

import asyncio
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from tests.faults.kinds import Asked, CutAnswer, Delay, FallSilent, LoseAnswer, Refuse, Rule
from tests.faults.proxy import FaultProxy
from tests.shared.kube.servers import until


class Upstream:
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.text()
        self.seen.append(f"{request.method} {request.path_qs} {request.headers.get('Authorization')} {body}".strip())
        if "watch" not in request.query:
            return web.Response(text="x" * 1000, headers={"X-Kept": "yes"})
        response = web.StreamResponse()
        await response.prepare(request)
        for number in range(100):
            await response.write(f"line {number}\n".encode())
            await asyncio.sleep(0.02)
        return response


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    server = Upstream()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as opened:
        yield opened


async def test_proxy_without_rules_passes_everything_unchanged(
    upstream: Upstream, session: aiohttp.ClientSession
) -> None:
    with FaultProxy(upstream.url).running() as proxy:
        side = proxy.side("a")
        headers = {"Authorization": "Bearer t"}
        async with session.post(f"{side.url}/a%2Fb?c=d%20e", data="body", headers=headers) as answer:
            assert (answer.status, await answer.text(), answer.headers["X-Kept"]) == (200, "x" * 1000, "yes")
        (seen,) = upstream.seen
        assert seen.replace("+", "%20") == "POST /a%2Fb?c=d%20e Bearer t body"
        async with session.get(f"{side.url}/w?watch=true") as answer:
            assert await answer.content.readline() == b"line 0\n"


async def test_refused_requests_never_reach_the_server(upstream: Upstream, session: aiohttp.ClientSession) -> None:
    with FaultProxy(upstream.url).running() as proxy:
        proxy.rules.append(Rule(Refuse(409), lambda asked: asked.is_write, times=1))
        url = proxy.side("a").url
        async with session.patch(url, data="x") as answer:
            assert answer.status == 409
            assert (await answer.json())["reason"] == "Conflict"
        async with session.patch(url, data="x") as answer:
            assert answer.status == 200
        assert len(upstream.seen) == 1
        assert proxy.committed == {("Refuse", "a"): 1}
        assert proxy.faults() == 1


async def test_responses_are_lost_or_cut(upstream: Upstream, session: aiohttp.ClientSession) -> None:
    with FaultProxy(upstream.url).running() as proxy:
        url = proxy.side("a").url
        proxy.rules[:] = [Rule(LoseAnswer())]
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await session.post(url)
        assert len(upstream.seen) == 1
        proxy.rules[:] = [Rule(CutAnswer())]
        async with session.post(url) as answer:
            with pytest.raises(aiohttp.ClientPayloadError):
                await answer.read()
        proxy.rules[:] = [Rule(CutAnswer(after=10))]
        async with session.get(f"{url}/w?watch=true") as answer:
            assert await answer.content.readexactly(10) == b"line 0\nlin"
            with pytest.raises(aiohttp.ClientPayloadError):
                await answer.content.read()


async def test_silenced_requests_keep_the_connection_open(upstream: Upstream, session: aiohttp.ClientSession) -> None:
    with FaultProxy(upstream.url).running() as proxy:
        proxy.rules.append(Rule(FallSilent(after=7)))
        async with session.get(f"{proxy.side('a').url}/w?watch=true") as answer:
            assert await answer.content.readexactly(7) == b"line 0\n"
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(answer.content.readany(), 0.5)


async def test_partition_of_one_client_delivers_pending_requests_afterwards(
    upstream: Upstream, session: aiohttp.ClientSession
) -> None:
    with FaultProxy(upstream.url).running() as proxy:
        a, b = proxy.side("a"), proxy.side("b")
        async with session.get(f"{a.url}/w?watch=true") as stream:
            await stream.content.readline()
            a.partition()
            late = asyncio.create_task(session.post(a.url, data="late"))
            with pytest.raises(TimeoutError):
                await session.post(a.url, data="given up", timeout=aiohttp.ClientTimeout(total=0.3))
            async with session.get(b.url) as answer:
                assert answer.status == 200
            assert not any("late" in each for each in upstream.seen)
            a.heal()
            await until(lambda: any("late" in each for each in upstream.seen) and proxy.dropped == {"a": 1})
            (await late).close()
            assert not any("given up" in each for each in upstream.seen)
            assert (await stream.content.readline()).startswith(b"line")
            a.cut()
            with pytest.raises(aiohttp.ClientPayloadError):
                await stream.content.read()


async def test_delays_combine_with_other_faults(upstream: Upstream, session: aiohttp.ClientSession) -> None:
    with FaultProxy(upstream.url).running() as proxy:
        proxy.rules += [Rule(Delay(0.2, 0.3)), Rule(Refuse(500))]
        started = time.monotonic()
        async with session.get(proxy.side("a").url) as answer:
            assert answer.status == 500
        assert time.monotonic() - started >= 0.2
        assert proxy.committed == {("Delay", "a"): 1, ("Refuse", "a"): 1}


async def test_request_cancelled_during_a_delay_is_not_forwarded(
    upstream: Upstream, session: aiohttp.ClientSession
) -> None:
    with FaultProxy(upstream.url).running() as proxy:
        proxy.rules.append(Rule(Delay(1.0, 1.0)))
        with pytest.raises(TimeoutError):
            await session.post(proxy.side("a").url, timeout=aiohttp.ClientTimeout(total=0.1))
        await until(lambda: proxy.dropped == {"a": 1})
        assert upstream.seen == []


async def test_same_seed_selects_the_same_requests(upstream: Upstream, session: aiohttp.ClientSession) -> None:
    async def strikes(seed: int) -> list[int]:
        with FaultProxy(upstream.url, seed=seed).running() as proxy:
            proxy.rules.append(Rule(Refuse(503), lambda asked: asked.path == "/x", chance=0.5))
            found = []
            for _ in range(20):
                async with session.get(f"{proxy.side('a').url}/x") as answer:
                    found.append(answer.status)
            return found

    first, again, other = await strikes(7), await strikes(7), await strikes(8)
    assert first == again
    assert first != other
    assert set(first) == {200, 503}


def test_rule_matches_user_and_request() -> None:
    watch = Asked("a", "GET", "/apis/batch/v1/jobs", {"watch": "true"}, b"")
    write = Asked("a", "PATCH", "/apis/batch/v1/jobs/x", {}, b"{}")
    assert (watch.is_watch, watch.is_write, write.is_watch, write.is_write) == (True, False, False, True)
