"""The dashboard in the cluster: who is let in, by what the API server says of the token that a proxy adds."""

import asyncio
import http.client
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import aiohttp
import pytest
from aiohttp import web

from dashboard.http.proxied_guard import ProxiedGuard
from dashboard.http.routes import Routes
from dev.controlplane.quotree import Quotree
from shared.kube.client import Client
from shared.process.metrics_access import Permission, ReaderPermissions
from tests.builders import running, world
from tests.dashboard.in_cluster import in_cluster, token_of
from tests.dashboard.site import ShownFrames, frame_of

ONE = world("root 8\n  vision 4", [running("vision", 2, "runs")])


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@asynccontextmanager
async def session(address: str, token: str = "") -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    connector = aiohttp.TCPConnector(ssl=trusting())
    async with aiohttp.ClientSession(address, headers=headers, connector=connector) as opened:
        yield opened


async def asked(address: str, path: str, token: str = "", **headers: str) -> tuple[int, str]:
    async with session(address, token) as opened, opened.get(path, headers=headers) as answer:
        return answer.status, await answer.text()


def answered(address: str, path: str, *headers: tuple[str, bytes]) -> int:
    """The status for headers as bytes, each sent as it is, also twice; 0: the connection was closed instead."""
    host, port = address.removeprefix("https://").split(":")
    connection = http.client.HTTPSConnection(host, int(port), context=trusting(), timeout=60)
    try:
        connection.putrequest("GET", path)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse().status
    except (ConnectionError, http.client.BadStatusLine):
        return 0
    finally:
        connection.close()


async def first_event(address: str, token: str) -> dict[str, Any]:
    """The first frame that has everything."""
    async with session(address, token) as opened, opened.get("/api/stream") as answer:
        assert answer.status == 200
        async for line in answer.content:
            if line.startswith(b"data: "):
                event: dict[str, Any] = json.loads(line[6:])
                if event["complete"]:
                    return event
    raise AssertionError("the stream ended")


async def _judge_everybody(address: str, allowed: str, curious: str) -> None:
    status, page = await asked(address, "/")
    assert (status, "<html data-proxied " in page) == (200, True)
    status, text = await asked(address, "/api/group?name=vision")
    assert (status, "must pass on the user's token" in text) == (401, True)
    assert (await asked(address, "/api/group?name=vision", "invented"))[0] == 401
    status, text = await asked(address, "/api/group?name=vision", curious)
    assert (status, "run `quotree dashboard`" in text) == (403, True)
    assert (await asked(address, "/api/stream", curious))[0] == 403
    status, text = await asked(address, "/api/group?name=vision", allowed)
    assert (status, json.loads(text)["name"]) == (200, "vision")
    assert (await asked(address, "/api/nodes", allowed, **{"Sec-Fetch-Site": "cross-site"}))[0] == 403
    event = await first_event(address, allowed)
    assert event["notices"] == []
    assert {"vision", "language"} <= {row["name"] for row in event["rows"]}


def test_only_users_whom_the_api_server_allows_are_served(quotree: Quotree) -> None:
    allowed = token_of(quotree.cluster, "sees-all", sees_all=True)
    curious = token_of(quotree.cluster, "sees-nothing", sees_all=False)
    with in_cluster(quotree.cluster) as address:
        asyncio.run(_judge_everybody(address, allowed, curious))


def test_no_header_takes_the_place_of_a_users_token(quotree: Quotree) -> None:
    allowed = token_of(quotree.cluster, "hostile-sees-all", sees_all=True).encode()
    curious = token_of(quotree.cluster, "hostile-sees-nothing", sees_all=False).encode()
    claims = [
        ("X-Remote-User", b"system:admin"),
        ("X-Remote-Group", b"system:masters"),
        ("X-Forwarded-User", b"system:admin"),
        ("X-Forwarded-Access-Token", allowed),
        ("Impersonate-User", b"system:admin"),
        ("Impersonate-Group", b"system:masters"),
        ("Cookie", b"token=" + allowed),
        ("X-Forwarded-For", b"127.0.0.1"),
    ]
    data = "/api/group?name=vision"
    with in_cluster(quotree.cluster) as address:
        assert answered(address, data, ("Authorization", b"Bearer " + allowed)) == 200
        assert answered(address, data, *claims) == 401
        assert answered(address, data, ("Authorization", b"Bearer " + curious), *claims) == 403
        both = [("Authorization", b"Bearer " + each) for each in (curious, allowed)]
        assert answered(address, data, *both) in (0, 400, 403)
        for value in (b"Bearer \xff\xfe", b"Bearer " + allowed + b"\xff", b"Bearer ?", b"Basic " + allowed, b"Bearer"):
            assert answered(address, data, ("Authorization", value)) == 401, value
        assert answered(address, data, ("Authorization", b"Bearer " + b"a" * 7_000)) == 401
        assert answered(address, data, ("Authorization", b"Bearer " + b"a" * 1_000_000)) in (0, 400)
        assert answered(address, data, *[(f"X-{number}", b"x") for number in range(90)]) == 401
        assert answered(address, data, ("Transfer-Encoding", b"chunked"), ("Content-Length", b"5")) in (0, 400)
        assert answered(address, data, ("Authorization", b"Bearer " + allowed)) == 200


def test_service_account_of_the_dashboard_can_write_nothing(quotree: Quotree) -> None:
    listed = quotree.cluster.kubectl("auth", "can-i", "--list", "--as=quotree-dashboard").stdout.splitlines()
    may = {line.split()[0]: line.split("[")[-1].rstrip("]").split() for line in listed[1:] if line[:1].isalpha()}
    reviews = {name for name, verbs in may.items() if verbs == ["create"]}
    assert {name.partition(".")[0] for name in reviews} <= {
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "selfsubjectreviews",
        "tokenreviews",
        "subjectaccessreviews",
    }
    assert {verb for name in may.keys() - reviews for verb in may[name]} <= {"list", "watch", "get"}
    assert "secrets" not in may


class Readers:
    """Allows all users until set otherwise."""

    def __init__(self) -> None:
        self.answer = Permission.ALLOWED

    async def of(self, authorization: str) -> Permission:
        return self.answer if authorization else Permission.UNKNOWN


@pytest.mark.parametrize("later", [Permission.UNKNOWN, Permission.FORBIDDEN, Permission.UNDECIDED])
async def test_stream_ends_when_its_user_loses_access(later: Permission) -> None:
    readers, frames = Readers(), ShownFrames(frame_of(ONE, 1))
    guard = ProxiedGuard(cast("ReaderPermissions", readers))
    runner = web.AppRunner(Routes(cast("Client", None), frames, guard).application(), shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address = f"http://127.0.0.1:{runner.addresses[0][1]}"
        headers = {"Authorization": "Bearer token"}
        async with aiohttp.ClientSession(address) as opened, opened.get("/api/stream", headers=headers) as answer:
            assert (await answer.content.readline()).startswith(b"data: ")
            readers.answer = later
            frames.show(frame_of(ONE, 2))
            rest = await asyncio.wait_for(answer.content.read(), 60)
        assert rest.count(b"data: ") <= 1
        assert (await asked(address, "/api/nodes", "token"))[0] == later.value
    finally:
        await runner.cleanup()
