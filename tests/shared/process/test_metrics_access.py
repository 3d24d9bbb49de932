"""Metrics are read by whom the API server lets read them, and by nobody else."""

import asyncio
import ssl
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.host.ports import Ports
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.process.metrics_access import ALLOWED_FOR, REFUSED_FOR, TRUSTED_FOR, Permission, ReaderPermissions
from shared.process.metrics_server import MetricsAuthorization, MetricsSettings, serving_metrics
from tests.shared.kube.servers import client_of, eventually, until
from tests.shared.process.test_health import Clock

BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with connected(ConnectionSettings(kubeconfig=str(control_plane.kubeconfig))) as connection:
        yield Client(connection)


def account(control_plane: ControlPlane) -> tuple[str, str]:
    """A new service account, and its token."""
    name = f"scraper-{uuid.uuid4().hex[:8]}"
    control_plane.kubectl("create", "serviceaccount", name)
    return name, control_plane.kubectl("create", "token", name).stdout.strip()


def bind(control_plane: ControlPlane, name: str) -> None:
    """Let it read."""
    role = {"metadata": {"name": name}, "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]}
    assert control_plane.rest.request("POST", BINDINGS.replace("bindings", "s"), role)[0] == 201
    control_plane.kubectl(
        "create", "clusterrolebinding", name, f"--clusterrole={name}", f"--serviceaccount=default:{name}"
    )
    may = ("auth", "can-i", "get", "/metrics", f"--as=system:serviceaccount:default:{name}")
    deadline = time.monotonic() + 120
    while control_plane.kubectl(*may, check=False).stdout.strip() != "yes":
        assert time.monotonic() < deadline, "the binding is not in force"


@asynccontextmanager
async def scraping(client: Client) -> AsyncIterator[aiohttp.ClientSession]:
    registry = CollectorRegistry()
    Counter("seen", "Something.", registry=registry).inc()
    ports = Ports()
    port = ports.take()
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    connector = aiohttp.TCPConnector(ssl=trusting)
    settings = MetricsSettings(MetricsAuthorization.TOKEN, "127.0.0.1", port)
    try:
        async with (
            serving_metrics(settings, registry, client),
            aiohttp.ClientSession(f"https://127.0.0.1:{port}", connector=connector) as session,
        ):
            yield session
    finally:
        ports.close()


async def scrape(session: aiohttp.ClientSession, authorization: str | None) -> tuple[int, str]:
    headers = {"Authorization": authorization} if authorization else {}
    async with session.get("/metrics", headers=headers) as answer:
        return answer.status, await answer.text()


async def test_only_users_with_the_right_to_get_the_path_can_read(control_plane: ControlPlane, client: Client) -> None:
    name, token = account(control_plane)
    _, other = account(control_plane)
    bind(control_plane, name)
    async with scraping(client) as session:
        status, text = await scrape(session, f"Bearer {token}")
        assert (status, "seen_total 1.0" in text) == (200, True)
        status, text = await scrape(session, f"Bearer {other}")
        assert (status, "bind it to the ClusterRole quotree-metrics-reader" in text) == (403, True)
        for nobody in (None, "Bearer ", "Bearer invented", f"Basic {token}", token):
            assert (await scrape(session, nobody))[0] == 401
        async with session.get("/livez") as answer:
            assert answer.status == 404


async def test_access_decision_is_cached_for_a_limited_time(control_plane: ControlPlane, client: Client) -> None:
    name, token = account(control_plane)
    clock = Clock()
    permissions = ReaderPermissions(client, clock)
    assert await permissions.of(f"Bearer {token}") is Permission.FORBIDDEN
    bind(control_plane, name)
    assert await permissions.of(f"Bearer {token}") is Permission.FORBIDDEN
    clock.now += REFUSED_FOR.total_seconds()
    assert await permissions.of(f"Bearer {token}") is Permission.ALLOWED
    control_plane.kubectl("delete", "clusterrolebinding", name)
    control_plane.kubectl("delete", "serviceaccount", name)
    assert await permissions.of(f"Bearer {token}") is Permission.ALLOWED

    async def later() -> Permission:
        clock.now += ALLOWED_FOR.total_seconds()
        return await permissions.of(f"Bearer {token}")

    # The API server itself keeps the token's answer for some seconds.
    await eventually(later, lambda found: found in (Permission.UNKNOWN, Permission.FORBIDDEN))


async def test_unknown_user_is_refused_while_the_api_server_is_silent(tmp_path: Path) -> None:
    reviews: list[str] = []
    go_on = asyncio.Event()

    async def refuse(request: web.Request) -> web.Response:
        reviews.append(request.path)
        await go_on.wait()
        return web.json_response({"kind": "Status", "code": 500}, status=500)

    async with client_of(refuse, tmp_path) as client:
        permissions = ReaderPermissions(client)
        asked = [asyncio.create_task(permissions.of(f"Bearer t{number}")) for number in range(20)]
        await until(lambda: sum(each.done() for each in asked) >= 12)
        assert sum(each.done() for each in asked) == 12
        go_on.set()
        assert {await each for each in asked} == {Permission.UNDECIDED}
    assert len(reviews) == 8


@pytest.mark.parametrize("silence", ["refuses", "hangs"])
async def test_allowed_user_can_read_while_the_api_server_is_silent(tmp_path: Path, silence: str) -> None:
    is_silent = False

    async def answer(request: web.Request) -> web.Response:
        if is_silent and silence == "hangs":
            await asyncio.sleep(5)
        if is_silent:
            return web.json_response({"kind": "Status", "code": 500}, status=500)
        status = {"authenticated": True} if request.path.endswith("tokenreviews") else {"allowed": True}
        return web.json_response({"status": status}, status=201)

    async with client_of(answer, tmp_path) as client:
        clock = Clock()
        permissions = ReaderPermissions(client, clock)
        assert await permissions.of("Bearer known") is Permission.ALLOWED
        is_silent = True
        clock.now += ALLOWED_FOR.total_seconds()
        assert await permissions.of("Bearer known") is Permission.ALLOWED
        if silence == "refuses":
            assert await permissions.of("Bearer new") is Permission.UNDECIDED
            clock.now += TRUSTED_FOR.total_seconds()
            assert await permissions.of("Bearer known") is Permission.UNDECIDED


async def test_denial_replaces_an_earlier_permission(tmp_path: Path) -> None:
    answers = iter([True, False])
    is_silent = False

    async def answer(request: web.Request) -> web.Response:
        if is_silent:
            return web.json_response({"kind": "Status", "code": 500}, status=500)
        authenticated = not request.path.endswith("tokenreviews") or next(answers)
        return web.json_response({"status": {"authenticated": authenticated, "allowed": True}}, status=201)

    async with client_of(answer, tmp_path) as client:
        clock = Clock()
        permissions = ReaderPermissions(client, clock)
        assert await permissions.of("Bearer known") is Permission.ALLOWED
        clock.now += ALLOWED_FOR.total_seconds()
        assert await permissions.of("Bearer known") is Permission.UNKNOWN
        is_silent = True
        clock.now += REFUSED_FOR.total_seconds()
        assert await permissions.of("Bearer known") is Permission.UNDECIDED
