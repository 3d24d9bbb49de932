"""Authenticates the caller: only the API server, by its front-proxy certificate, with the user in its headers. Pure.

The API server has authenticated and authorised the user before it forwards a request; any other caller is refused.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

CONFIG_MAP: Final = "extension-apiserver-authentication"
CONFIG_NAMESPACE: Final = "kube-system"
_DEFAULT_USER_HEADERS: Final = ("X-Remote-User",)
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"

PeerCertificate = Mapping[str, Any]
"""As `ssl.SSLSocket.getpeercert` returns it."""


class FrontProxy(msgspec.Struct, frozen=True):
    """How the API server is recognised: its CA, the names allowed in its certificate, and the header with the user."""

    ca: str
    names: tuple[str, ...] = ()
    """Common names; empty: any certificate of the CA."""
    user_headers: tuple[str, ...] = _DEFAULT_USER_HEADERS


def read_front_proxy(data: Mapping[str, str]) -> FrontProxy | None:
    """Read the API server's ConfigMap; None if aggregation is not set up or nothing is readable."""
    ca = data.get("requestheader-client-ca-file", "")
    try:
        names = _strings(data.get("requestheader-allowed-names", "[]"))
        headers = _strings(data.get("requestheader-username-headers", "[]"))
    except msgspec.MsgspecError:
        return None
    return FrontProxy(ca, names, headers or _DEFAULT_USER_HEADERS) if ca.strip() else None


def _strings(text: str) -> tuple[str, ...]:
    return msgspec.json.decode(text, type=tuple[str, ...])


def refusal(proxy: FrontProxy, certificate: PeerCertificate | None, headers: Mapping[str, str]) -> str | None:
    """Return why this caller is refused; None for the API server with a user.

    The certificate has been verified against the CA by the TLS layer; only its name is checked here.
    """
    if not certificate:
        return "only the API server is answered: no front-proxy certificate was shown"
    names = _common_names(certificate)
    if proxy.names and not names & set(proxy.names):
        return "only the API server is answered: the certificate has none of the names of a front proxy"
    if not any(headers.get(each) for each in proxy.user_headers):
        return "the API server named no user"
    return None


def sharer_of(proxy: FrontProxy, headers: Mapping[str, str]) -> str:
    """Return with whom the caller shares a bound: the user; for service accounts, all of one namespace.

    Who may create accounts in a namespace can make any number of them.
    """
    user = next((headers[each] for each in proxy.user_headers if headers.get(each)), "")
    return user.rpartition(":")[0] if user.startswith(_SERVICE_ACCOUNT) else user


def _common_names(certificate: PeerCertificate) -> set[str]:
    return {value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"}
