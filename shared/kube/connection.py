"""How the API server is reached: address, TLS, credentials, and one HTTP session for everything.

kubernetes_asyncio reads kubeconfigs, service accounts, exec plugins and OIDC; it is imported here alone, and only when
a connection is made, because importing it takes half a second. Its typed client, Watch and LeaderElection are not
used: they decode fifty times slower, hang on a silent peer, and let two leaders live.
"""

import asyncio
import errno
import logging
import os
import socket
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec

from shared.kube.errors import ConnectionProblem
from shared.kube.kubeconfig import Chosen, choose

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration

_log = logging.getLogger("quotree.kube.connection")
_TOKEN_LIFE = timedelta(minutes=1)
_PROBE_TIMEOUT = timedelta(seconds=10)


class ConnectionSettings(msgspec.Struct, frozen=True, rename="camel"):
    """Where to look for the API server. Without a kubeconfig: $KUBECONFIG, the pod's service account, ~/.kube/config.

    `strict_x509` false accepts cluster certificates that lack key identifiers, which Python 3.13 refuses by default.
    """

    kubeconfig: str | None = None
    context: str | None = None
    strict_x509: bool = True
    user_agent: str = "quotree"
    service_account: str = "/var/run/secrets/kubernetes.io/serviceaccount"


@dataclass(frozen=True, slots=True)
class Access:
    """What one request needs: its headers, and aiohttp's options for TLS and proxy. Replaced as a whole."""

    headers: Mapping[str, str]
    options: Mapping[str, Any]
    tls_material: tuple[bytes | str | bool | None, ...]
    read_at: float


@dataclass(slots=True)
class Connection:
    """An open way to one API server; `origin` says in words where it was configured."""

    base_url: str
    origin: str
    session: aiohttp.ClientSession
    settings: ConnectionSettings
    chosen: Chosen | None
    _access: Access
    _renewal: "asyncio.Task[Access] | None" = field(default=None)

    async def access(self) -> Access:
        """What the next request needs. The service account's token is read again every minute: it is rotated."""
        if self.chosen is None and time.monotonic() - self._access.read_at > _TOKEN_LIFE.total_seconds():
            try:
                return await self.renew(self._access)
            except ConnectionProblem as problem:
                # The token in hand may be good for an hour yet.
                _log.warning("credentials not renewed", extra={"error": str(problem)})
        return self._access

    async def renew(self, refused: Access) -> Access:
        """Read the credentials again, once for all who were refused with the same. Raises ConnectionProblem."""
        if self._access is refused:
            if self._renewal is None:
                self._renewal = asyncio.create_task(self._read_again())
            return await asyncio.shield(self._renewal)
        return self._access

    async def _read_again(self) -> Access:
        try:
            self._access = await _read_access(self.settings, self.chosen, self._access)
            return self._access
        finally:
            self._renewal = None


@asynccontextmanager
async def connected(settings: ConnectionSettings) -> AsyncIterator[Connection]:
    """A connection that has been seen to work. Raises ConnectionProblem with one sentence otherwise."""
    chosen = _choose(settings)
    access = await _read_access(settings, chosen, None)
    base_url = chosen.server if chosen else _service_address()
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        # Compressing lists costs both sides more CPU than it saves on a cluster's network.
        headers={"User-Agent": settings.user_agent, "Accept-Encoding": "identity"},
        timeout=aiohttp.ClientTimeout(),
    ) as session:
        origin = chosen.origin if chosen else "the pod's service account"
        connection = Connection(base_url, origin, session, settings, chosen, access)
        await _probe(connection)
        yield connection


def _choose(settings: ConnectionSettings) -> Chosen | None:
    """The kubeconfig to use; None means the pod's service account."""
    given = settings.kubeconfig or os.environ.get("KUBECONFIG")
    if given:
        return choose([Path(part).expanduser() for part in given.split(os.pathsep) if part], settings.context)
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return None
    return choose([Path("~/.kube/config").expanduser()], settings.context)


def _service_address() -> str:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


async def _read_access(settings: ConnectionSettings, chosen: Chosen | None, former: Access | None) -> Access:
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config import ConfigException, load_incluster_config, load_kube_config

    configuration = Configuration()
    origin = chosen.origin if chosen else f"service account {settings.service_account}"
    try:
        if chosen:
            await load_kube_config(
                config_file=os.pathsep.join(map(str, chosen.paths)),
                context=chosen.context,
                client_configuration=configuration,
                persist_config=False,
            )
        else:
            load_incluster_config(  # type: ignore[no-untyped-call]
                client_configuration=configuration,
                try_refresh_token=False,
                token_filename=f"{settings.service_account}/token",
                cert_filename=f"{settings.service_account}/ca.crt",
            )
    except (ConfigException, OSError) as error:
        # Of a kubeconfig without a plugin, the library's text may quote the user's secrets.
        detail = f": {error}" if chosen is None or chosen.runs_plugin else " (its user or cluster is incomplete)"
        raise ConnectionProblem(f"{origin} gives no usable credentials{detail}") from None
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError):
        raise ConnectionProblem(f"{origin} gives no usable credentials (its user or cluster is malformed)") from None
    return _access_from(settings, configuration, origin, former)


def _access_from(
    settings: ConnectionSettings, configuration: "Configuration", origin: str, former: Access | None
) -> Access:
    token = configuration.api_key.get("BearerToken")
    headers = {"Authorization": token.strip()} if token else {}
    if any(not character.isprintable() for character in headers.get("Authorization", "")):
        raise ConnectionProblem(f"{origin}: the token holds line breaks or control characters")
    material = _tls_material(configuration)
    if former is not None and former.tls_material == material:
        # The same context keeps the open connections in use.
        return Access(headers, former.options, material, time.monotonic())
    options: dict[str, Any] = {}
    host = configuration.host or ""
    if host.startswith("https"):
        try:
            options["ssl"] = _tls_context(configuration, strict=settings.strict_x509)
        except (ssl.SSLError, OSError) as error:
            raise ConnectionProblem(
                f"{origin}: the certificates cannot be loaded: {error.strerror or error}"
            ) from error
        if configuration.tls_server_name:
            options["server_hostname"] = configuration.tls_server_name
    if proxy := configuration.proxy or _proxy_from_environment(host):
        options["proxy"] = proxy
    return Access(headers, options, material, time.monotonic())


def _tls_material(configuration: "Configuration") -> tuple[bytes | str | bool | None, ...]:
    files = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    contents = tuple(Path(name).read_bytes() if name and Path(name).is_file() else None for name in files)
    return (*contents, configuration.host, configuration.tls_server_name, bool(configuration.verify_ssl))


def _tls_context(configuration: "Configuration", *, strict: bool) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert or None)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if not strict:
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _proxy_from_environment(server: str) -> str | None:
    """Looked up once: aiohttp's own look-up starts a thread for every request."""
    parts = urlsplit(server)
    if not parts.hostname or proxy_bypass(parts.hostname):
        return None
    return getproxies().get(parts.scheme)


async def _probe(connection: Connection) -> None:
    where = f"{connection.base_url} ({connection.origin})"
    access = await connection.access()
    timeout = aiohttp.ClientTimeout(total=_PROBE_TIMEOUT.total_seconds())
    try:
        async with connection.session.get(
            f"{connection.base_url}/version", headers=access.headers, timeout=timeout, **access.options
        ) as answer:
            status, body = answer.status, await answer.read()
    except aiohttp.ClientConnectorCertificateError as error:
        reason = getattr(error.certificate_error, "verify_message", "") or "verification failed"
        raise ConnectionProblem(f"the certificate of the API server at {where} is not trusted: {reason}") from error
    except aiohttp.ClientConnectorError as error:
        reason = _reason(error.os_error)
        raise ConnectionProblem(f"no API server answers at {where}: {reason}; is it running?") from error
    except TimeoutError as error:
        seconds = _PROBE_TIMEOUT.total_seconds()
        raise ConnectionProblem(f"the API server at {where} did not answer within {seconds:.0f} s") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise ConnectionProblem(f"what answers at {where} is no API server: {type(error).__name__}") from error
    if problem := _judge_version(status, body):
        raise ConnectionProblem(f"the API server at {where} {problem}")


def _reason(error: OSError) -> str:
    """In words; event loops put other texts into an OSError, and name look-up has numbers of its own."""
    if error.errno in errno.errorcode and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)
    return error.strerror or str(error)


def _judge_version(status: int, body: bytes) -> str | None:
    if status == 401:
        return "refused the credentials (401): log in again, or check the user of that context"
    if status >= 500:
        return f"is not ready (it answered {status}): try again when it is"
    if status == 403:
        return None
    try:
        version = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        version = {}
    return None if status == 200 and "gitVersion" in version else f"answered {status} to /version: is it an API server?"
