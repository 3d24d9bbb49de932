"""Credentials, TLS and proxy of a request, as the kubeconfig or service account gives them.

kubernetes_asyncio reads kubeconfigs, service accounts, exec plugins and OIDC; it is imported only when a connection is
made, and of it only that (`credentials_library`). Its typed client, Watch and LeaderElection are not used: they decode
fifty times slower, hang on a silent peer, and let two leaders live.
"""

import os
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from shared.kube.connect.kubeconfig import Chosen
from shared.kube.errors import ConnectionProblem

if TYPE_CHECKING:
    from shared.kube.connect.credentials_library import Configuration


class ConnectionSettings(msgspec.Struct, frozen=True, rename="camel"):
    """Where the API server is configured. Without a kubeconfig: $KUBECONFIG, the pod's service account, ~/.kube/config.

    `strict_x509` false accepts cluster certificates that lack key identifiers, which Python 3.13 refuses by default.
    """

    kubeconfig: str | None = None
    context: str | None = None
    strict_x509: bool = True
    user_agent: str = "quotree"
    service_account: str = "/var/run/secrets/kubernetes.io/serviceaccount"


@dataclass(frozen=True, slots=True)
class Access:
    """Headers of a request, and aiohttp's options for TLS and proxy. Replaced as a whole."""

    headers: Mapping[str, str]
    options: Mapping[str, Any]
    tls_material: tuple[bytes | str | bool | None, ...]
    read_at: float


async def read_access(settings: ConnectionSettings, chosen: Chosen | None, previous: Access | None) -> Access:
    from shared.kube.connect.credentials_library import (
        ConfigException,
        Configuration,
        load_incluster_config,
        load_kube_config,
    )

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
    return _access_from(settings, configuration, origin, previous)


def _access_from(
    settings: ConnectionSettings, configuration: "Configuration", origin: str, previous: Access | None
) -> Access:
    token = configuration.api_key.get("BearerToken")
    headers = {"Authorization": token.strip()} if token else {}
    if any(not character.isprintable() for character in headers.get("Authorization", "")):
        raise ConnectionProblem(f"{origin}: the token holds line breaks or control characters")
    material = _tls_material(configuration)
    if previous is not None and previous.tls_material == material:
        # The same context keeps the open connections in use.
        return Access(headers, previous.options, material, time.monotonic())
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
    """Read the environment once: aiohttp would start a thread for every request."""
    parts = urlsplit(server)
    if not parts.hostname or proxy_bypass(parts.hostname):
        return None
    return getproxies().get(parts.scheme)
