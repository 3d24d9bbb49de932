"""The certificate that the server presents, replaced while it serves.

A certificate is loaded into a fresh TLS context; only one that loaded takes the place of the previous, at the next
handshake. Loading into the live context instead would break every handshake when certificate and key do not match.
"""

import asyncio
import ssl
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from prometheus_client import Counter, Gauge

from shared.telemetry import get_logger
from shared.tls.ca import CannotUse, KeyPair, expiry, valid_from

log = get_logger(__name__)


class CertificateMetrics(Protocol):
    """Metrics of a server's certificate."""

    certificate_expiry: Gauge
    """When the certificate in use expires, as a timestamp."""
    certificate_loads: Counter
    """Certificates put into use."""


class CertificateHolder:
    """Holds the certificate in use. `client_ca`: the file with the CA of client certificates that callers must have.

    With `trust`, the CA is text that can change, and a caller without a certificate is passed on for others to check.
    `problem` is the readiness problem: no certificate, or an invalid one.
    """

    def __init__(self, metrics: CertificateMetrics, client_ca: str = "") -> None:
        self._metrics = metrics
        self._client_ca = client_ca
        self._shown: KeyPair | None = None
        self._expires: datetime | None = None
        self._context: ssl.SSLContext | None = None
        self.listeners: list[Callable[[], None]] = []
        """Called for every new certificate."""
        self._trouble = "no certificate yet"
        self._trusted = ""

    @property
    def shown(self) -> KeyPair | None:
        """The served certificate."""
        return self._shown

    @property
    def valid_from(self) -> datetime | None:
        """The start of validity of the certificate in use."""
        return None if self._shown is None else valid_from(self._shown.certificate)

    def trust(self, authority: str) -> None:
        """From the next handshake on, verify the caller's certificate, if it has one, against this CA (PEM)."""
        if authority != self._trusted:
            self._trusted = authority
            if self._shown is not None:
                self._load(self._shown)

    def show(self, pair: KeyPair) -> bool:
        """Serve this from the next handshake on. False if it is unusable: then the previous one stays."""
        return pair == self._shown or self._load(pair)

    def _load(self, pair: KeyPair) -> bool:
        try:
            context, expires = self._context_of(pair), expiry(pair.certificate)
        except CannotUse as error:
            self._trouble = str(error)
            log.error("Certificate not taken into use", reason=str(error), serving=self._shown is not None)
            return False
        self._context, self._shown, self._expires = context, pair, expires
        self._metrics.certificate_expiry.set(expires.timestamp())
        self._metrics.certificate_loads.inc()
        log.info("Certificate in use", expires=expires.isoformat())
        for listener in self.listeners:
            listener()
        return True

    async def first_shown(self) -> None:
        """Return when there is a certificate to serve."""
        if self.shown is None:
            shown = asyncio.Event()
            self.listeners.append(shown.set)
            await shown.wait()

    def problem(self) -> str | None:
        """None while the served certificate is valid."""
        if self._expires is None:
            return self._trouble
        if self._expires <= datetime.now(UTC):
            return f"the certificate expired at {self._expires.isoformat()}: {self._trouble}"
        return None

    def listener(self) -> ssl.SSLContext:
        """Return the TLS context to listen with. Raises CannotUse before the first certificate."""
        if self._shown is None:
            raise CannotUse(self._trouble)
        context = self._context_of(self._shown)

        def choose(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
            connection.context = self._context or context

        context.sni_callback = choose
        return context

    def _context_of(self, pair: KeyPair) -> ssl.SSLContext:
        context = server_context(pair, self._client_ca)
        if self._trusted:
            context.verify_mode = ssl.CERT_OPTIONAL
            try:
                context.load_verify_locations(cadata=self._trusted)
            except (ValueError, ssl.SSLError) as error:
                raise CannotUse(f"the CA of callers cannot be read: {_reason(error)}") from error
        return context


def server_context(pair: KeyPair, client_ca: str = "") -> ssl.SSLContext:
    """Return a context to listen with. Raises CannotUse.

    Python reads keys from files only; they exist for this moment, readable by this user only.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(client_ca)
        except (OSError, ssl.SSLError) as error:
            raise CannotUse(f"the CA of callers cannot be read from {client_ca}: {_reason(error)}") from error
    with tempfile.TemporaryDirectory(prefix="quotree-") as folder:
        certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
        key.touch(mode=0o600)
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            raise CannotUse(f"certificate and key cannot be used together: {_reason(error)}") from error
    return context


def _no_password(*_: Any) -> str:
    """An encrypted key would ask at the terminal."""
    raise ValueError("the private key is encrypted")


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error)
