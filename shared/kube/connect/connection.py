"""The connection to the API server: address, TLS, credentials, and one HTTP session for all requests.

`connected` is the entry point.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp

from shared.kube.connect.access import Access, ConnectionSettings, read_access
from shared.kube.connect.kubeconfig import Chosen, choose
from shared.kube.connect.probe import probe
from shared.kube.errors import ConnectionProblem

__all__ = ["Connection", "ConnectionProblem", "ConnectionSettings", "connected"]

_log = logging.getLogger("quotree.kube.connection")
_TOKEN_LIFE = timedelta(minutes=1)
_IDLE = timedelta(seconds=60)
"""How long a connection without a request stays open for the next one. The API server closes it after 90 seconds."""
_UNACKNOWLEDGED = timedelta(seconds=5)
"""At most the time from a holder's deadline to the end of its Lease, with default settings."""


@dataclass(slots=True)
class Connection:
    """A connection to one API server; `origin` describes where it was configured."""

    base_url: str
    origin: str
    session: aiohttp.ClientSession
    settings: ConnectionSettings
    chosen: Chosen | None
    _access: Access
    _renewal: "asyncio.Task[Access] | None" = field(default=None)

    async def access(self) -> Access:
        """Credentials of the next request. The service account's token is rotated, so it is read again every minute."""
        if self.chosen is None and time.monotonic() - self._access.read_at > _TOKEN_LIFE.total_seconds():
            try:
                return await self.renew(self._access)
            except ConnectionProblem as problem:
                # The current token can still be valid for an hour.
                _log.warning("credentials not renewed", extra={"error": str(problem)})
        return self._access

    async def renew(self, refused: Access) -> Access:
        """Read the credentials again, once for all requests refused with the same ones. Raises ConnectionProblem."""
        if self._access is refused:
            if self._renewal is None:
                self._renewal = asyncio.create_task(self._read_again())
            return await asyncio.shield(self._renewal)
        return self._access

    async def _read_again(self) -> Access:
        try:
            self._access = await read_access(self.settings, self.chosen, self._access)
            return self._access
        finally:
            self._renewal = None


@asynccontextmanager
async def connected(settings: ConnectionSettings) -> AsyncIterator[Connection]:
    """Connect and verify that the API server answers. Raises ConnectionProblem with one sentence otherwise."""
    chosen = _choose(settings)
    access = await read_access(settings, chosen, None)
    base_url = chosen.server if chosen else _service_address()
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE.total_seconds(), socket_factory=_socket),
        cookie_jar=aiohttp.DummyCookieJar(),
        # Compressing lists costs both sides more CPU than it saves on a cluster's network.
        headers={"User-Agent": settings.user_agent, "Accept-Encoding": "identity"},
        timeout=aiohttp.ClientTimeout(),
    ) as session:
        origin = chosen.origin if chosen else "the pod's service account"
        connection = Connection(base_url, origin, session, settings, chosen, access)
        await probe(session, base_url, origin, await connection.access())
        yield connection


def _socket(address: tuple[Any, ...]) -> socket.socket:
    """Return a socket that drops unacknowledged bytes after a while, so that no request arrives after its time-out."""
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(_UNACKNOWLEDGED.total_seconds() * 1000))
    return made


def _choose(settings: ConnectionSettings) -> Chosen | None:
    """Choose the kubeconfig; None means the pod's service account."""
    given = settings.kubeconfig or os.environ.get("KUBECONFIG")
    if given:
        return choose([Path(part).expanduser() for part in given.split(os.pathsep) if part], settings.context)
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return None
    return choose([Path("~/.kube/config").expanduser()], settings.context)


def _service_address() -> str:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
