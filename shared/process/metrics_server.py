"""/metrics on a TLS port of its own, for authorised readers.

The certificate is self-signed at the start: scrapers do not verify it. It protects tokens in transit.
"""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry

from shared.kube.client import Client
from shared.process.health import Port, listen, metrics_response
from shared.process.metrics_access import METRICS_PATH, Permission, ReaderPermissions
from shared.telemetry import get_logger
from shared.tls.ca import issue, make_ca
from shared.tls.serving_cert import server_context

_LIFE: Final = timedelta(days=3650)
_IDLE: Final = 75.0
"""Seconds that a connection is kept between two scrapes."""

log = get_logger(__name__)


class MetricsAuthorization(StrEnum):
    """How readers of the metrics are authorised."""

    TOKEN = "Token"  # noqa: S105
    """By a token that the API server knows, of a user who may `get` /metrics."""
    NONE = "None"
    """Not at all: the health port serves them without authorization."""


class MetricsSettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`metrics:` who can read them; `port` is used with `authorization: Token`, and 0 takes any free one."""

    authorization: MetricsAuthorization = MetricsAuthorization.NONE
    host: str = "0.0.0.0"  # noqa: S104 - scrapers come from other pods
    port: Port = 8443


@asynccontextmanager
async def serving_metrics(
    settings: MetricsSettings, registry: CollectorRegistry, client: Client
) -> AsyncIterator[None]:
    """Answer scrapers while the block runs, if readers are authorised. Raises Problem when the port is occupied."""
    if settings.authorization is MetricsAuthorization.NONE:
        yield
        return
    app = web.Application(client_max_size=1)
    app.add_routes([_route(registry, ReaderPermissions(client))])
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1, keepalive_timeout=_IDLE)
    await runner.setup()
    try:
        await listen(runner, settings.host, settings.port, "metrics", ssl_context=unsigned_context())
        log.info("Metrics served", port=int(runner.addresses[0][1]))
        yield
    finally:
        await runner.cleanup()


def _route(registry: CollectorRegistry, access: ReaderPermissions) -> web.RouteDef:
    async def metrics(request: web.Request) -> web.Response:
        found = await access.of(request.headers.get("Authorization", ""))
        if found is not Permission.ALLOWED:
            headers = {"WWW-Authenticate": "Bearer"} if found is Permission.UNKNOWN else {}
            return web.Response(status=found.value, text=f"{_WORDS[found]}\n", headers=headers)
        return await metrics_response(registry, request)

    return web.get(METRICS_PATH, metrics)


_WORDS: Final = {
    Permission.UNKNOWN: "send a token that the API server knows",
    Permission.FORBIDDEN: "this user cannot get the path /metrics: bind it to the ClusterRole quotree-metrics-reader",
    Permission.UNDECIDED: "it cannot be decided now who may read this",
}


def unsigned_context() -> ssl.SSLContext:
    """Return a TLS context with a new self-signed certificate."""
    now = datetime.now(UTC)
    return server_context(issue(make_ca(_LIFE, now), ["quotree"], _LIFE, now))
