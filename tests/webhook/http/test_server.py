"""The TLS server is patient with slow reviews, not with hostile ones, and drops nothing when certificates change."""

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from shared.api.review import Review
from shared.problems import Problem
from shared.tls.ca import KeyPair, issue, make_ca
from shared.tls.file_certificate import FileCertificate
from shared.tls.serving_cert import CertificateHolder
from tests.webhook.http.test_handler import PATH, accept, body
from webhook.http.handler import Endpoints, Judge, Route
from webhook.http.server import MAX_BODY, Server
from webhook.metrics import WebhookMetrics
from webhook.verdicts import YES, Verdict

DAY = timedelta(days=1)
JSON = {"Content-Type": "application/json"}
PATIENCE = timedelta(milliseconds=1500)


def authority() -> KeyPair:
    return make_ca(DAY, datetime.now(UTC))


def leaf(of: KeyPair) -> KeyPair:
    return issue(of, ("localhost", "127.0.0.1"), DAY, datetime.now(UTC))


@dataclass(slots=True)
class Running:
    """A server, and how to call it."""

    port: int
    server: Server
    holder: CertificateHolder
    ca: KeyPair

    def trusting(self, *authorities: KeyPair) -> ssl.SSLContext:
        """A client's context."""
        pems = "".join(each.certificate.decode() for each in authorities or (self.ca,))
        return ssl.create_default_context(cadata=pems)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}{PATH}"

    @asynccontextmanager
    async def client(self) -> AsyncIterator[aiohttp.ClientSession]:
        connector = aiohttp.TCPConnector(ssl=self.trusting())
        async with aiohttp.ClientSession(connector=connector) as session:
            yield session

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A bare TLS connection."""
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=self.trusting())


@asynccontextmanager
async def running(
    judge: Judge = accept,
    patience: timedelta = timedelta(seconds=10),
    few: int = 0,
    max_waiting: int = 100,
) -> AsyncIterator[Running]:
    metrics = WebhookMetrics(CollectorRegistry())
    ca = authority()
    holder = CertificateHolder(metrics)
    assert holder.show(leaf(ca))
    endpoints = Endpoints({PATH: Route("batch", "Job", judge)}, metrics, lambda: None)
    server = Server(endpoints, metrics, max_waiting, patience, few)
    async with server.listening("127.0.0.1", 0, holder.listener()) as port:
        yield Running(port, server, holder, ca)


async def still_serves(it: Running) -> None:
    async with it.client() as client, client.post(it.url, data=body(), headers=JSON) as answer:
        assert (answer.status, (await answer.json())["response"]) == (200, {"uid": "u-1", "allowed": True})


async def test_reviews_are_answered_on_one_connection_kept_open() -> None:
    async with running() as it, it.client() as client:
        for _ in range(3):
            async with client.post(it.url + "?timeout=5s", data=body(), headers=JSON) as answer:
                assert (await answer.json())["response"] == {"uid": "u-1", "allowed": True}
        assert len(it.server._http.connections) == 1


async def test_idle_connection_is_kept_open_for_the_next_review() -> None:
    async with running(patience=PATIENCE, few=1) as it:
        reader, writer = await it.open()
        await asyncio.sleep(3 * PATIENCE.total_seconds())
        review = body()
        head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(review)}\r\n\r\n".encode() + review)
        async with asyncio.timeout(60):
            assert b" 200 OK" in await reader.readline()
        writer.close()


async def test_body_of_8_mib_is_read_and_a_larger_one_is_refused() -> None:
    frame = len(body(object={"x": ""}))
    async with running() as it, it.client() as client:
        whole = body(object={"x": "y" * (MAX_BODY - frame)})
        async with client.post(it.url, data=io.BytesIO(whole), headers=JSON) as answer:
            assert (len(whole), answer.status) == (MAX_BODY, 200)
        async with client.post(it.url, data=io.BytesIO(whole + b" "), headers=JSON) as answer:
            assert (answer.status, await answer.text()) == (413, "the body has more than 8388608 bytes\n")
        await still_serves(it)


async def test_certificate_is_replaced_without_a_dropped_request() -> None:
    async with running() as it, it.client() as kept:
        new_ca = authority()
        refused = 0
        for round_ in range(30):
            if round_ % 10 == 5:
                assert it.holder.show(leaf(new_ca))
            async with kept.post(it.url, data=body(), headers=JSON) as answer:
                refused += answer.status != 200
            connector = aiohttp.TCPConnector(ssl=it.trusting(it.ca, new_ca), force_close=True)
            async with (
                aiohttp.ClientSession(connector=connector) as fresh,
                fresh.post(it.url, data=body(), headers=JSON) as answer,
            ):
                refused += answer.status != 200
        assert refused == 0
        only_new = aiohttp.TCPConnector(ssl=it.trusting(new_ca))
        async with (
            aiohttp.ClientSession(connector=only_new) as fresh,
            fresh.post(it.url, data=body(), headers=JSON) as answer,
        ):
            assert answer.status == 200


@pytest.mark.parametrize(
    "broken",
    [
        KeyPair(b"", b""),
        KeyPair(b"rubbish", b"rubbish"),
        KeyPair(leaf(authority()).certificate, leaf(authority()).key),
        KeyPair(leaf(authority()).certificate, leaf(authority()).key[:40]),
    ],
    ids=["empty", "rubbish", "mismatched", "half-written"],
)
async def test_broken_certificate_leaves_the_previous_one_in_use(broken: KeyPair) -> None:
    async with running() as it:
        before = it.holder.shown
        assert not it.holder.show(broken)
        assert it.holder.shown is before
        assert it.holder.problem() is None
        await still_serves(it)


async def test_certificate_files_are_used_once_complete(tmp_path: Path) -> None:
    async with running() as it:
        files = FileCertificate(it.holder, str(tmp_path))
        before, new = it.holder.shown, leaf(it.ca)
        for half in (None, b"", new.certificate[:100]):
            if half is not None:
                (tmp_path / "tls.crt").write_bytes(half)
                (tmp_path / "tls.key").write_bytes(new.key)
            files.look()
            assert it.holder.shown is before
        (tmp_path / "tls.crt").write_bytes(new.certificate)
        files.look()
        assert it.holder.shown == new
        await still_serves(it)


async def test_pending_review_is_answered_during_shutdown_and_its_connection_closed() -> None:
    asked = asyncio.Event()

    async def slow(_review: Review) -> Verdict:
        asked.set()
        await asyncio.sleep(0.3)
        return YES

    async with asyncio.TaskGroup() as group, running(slow) as it:
        session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=it.trusting()))

        async def call() -> tuple[int, str | None]:
            async with session, session.post(it.url, data=body(), headers=JSON) as answer:
                await answer.read()
                return answer.status, answer.headers.get("Connection")

        calling = group.create_task(call())
        await asked.wait()
    assert calling.result() == (200, "close")


async def test_occupied_port_is_reported_in_one_line() -> None:
    async with running() as it:
        with pytest.raises(Problem) as refused:
            async with it.server.listening("127.0.0.1", it.port, it.holder.listener()):
                pass
        assert str(refused.value) == (
            f"cannot listen on 127.0.0.1:{it.port} for reviews: the port is taken by another process; set listen.port"
        )


async def test_responses_are_complete_json() -> None:
    async with running() as it, it.client() as client, client.post(it.url, data=body(), headers=JSON) as answer:
        assert (answer.content_type, json.loads(await answer.read())["kind"]) == (
            "application/json",
            "AdmissionReview",
        )
