"""Plain requests to the API server as its admin, for the harness itself and for tests that want one status code."""

import http.client
import json
import ssl
import threading
import time
import urllib.error
import urllib.request
from functools import cache
from pathlib import Path
from typing import Any, Self

REQUEST_TIMEOUT = 30.0
PROBE_TIMEOUT = 2.0
# The API server closes a connection that was idle for 90 s, and a request sent into that moment has no answer.
IDLE_LIMIT = 30.0


class Rest:
    """One kept-alive connection; usable from several threads, one request at a time."""

    def __init__(self, host: str, port: int, authority: Path, token: str) -> None:
        self._tls = ssl.create_default_context(cafile=authority)
        self._address = (host, port)
        self._arguments = host, port, authority, token
        self._token = token
        self._impersonated: dict[str, str] = {}
        self._turn = threading.Lock()
        self._connection: http.client.HTTPSConnection | None = None
        self._last_used = 0.0

    def acting_as(self, user: str) -> "Rest":
        """Return a connection whose requests the API server judges as this user's, by impersonation."""
        other = Rest(*self._arguments)
        other._impersonated = {"Impersonate-User": user}
        return other

    def another(self) -> "Rest":
        """Return one more connection with the same rights, for requests at the same time."""
        return Rest(*self._arguments)

    def request(
        self, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        """Status and decoded JSON body; no status is an error. Raises OSError when there is no answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type, **self._impersonated}
        with self._turn:
            try:
                status, text = self._exchange(method, path, data, headers)
            except ConnectionResetError:
                # A restarted server has forgotten our connection; only what changes nothing may be sent again.
                if method != "GET":
                    raise
                status, text = self._exchange(method, path, data, headers)
        return status, _decoded(text)

    def _exchange(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        try:
            connection = self._open()
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._drop()
            kind = ConnectionResetError if isinstance(error, ConnectionError) else ConnectionError
            raise kind(f"{method} {path}: {error!r}") from error

    def ready(self) -> bool:
        """Return whether /readyz says ok, over a connection of its own; after two silent seconds it is not."""
        connection = self._connected(PROBE_TIMEOUT)
        try:
            connection.request("GET", "/readyz", headers={"Authorization": f"Bearer {self._token}"})
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def close(self) -> None:
        with self._turn:
            self._drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> http.client.HTTPSConnection:
        now = time.monotonic()
        if now - self._last_used > IDLE_LIMIT:
            self._drop()
        self._last_used = now
        if self._connection is None:
            self._connection = self._connected(REQUEST_TIMEOUT)
        return self._connection

    def _connected(self, timeout: float) -> http.client.HTTPSConnection:
        host, port = self._address
        return http.client.HTTPSConnection(host, port, context=self._tls, timeout=timeout)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def serves(url: str) -> bool:
    """Return whether a health URL on this machine answers 200; certificates made at start are not checked."""
    try:
        with urllib.request.urlopen(url, timeout=PROBE_TIMEOUT, context=unchecked()) as answer:  # noqa: S310  our own http(s) URL
            return bool(answer.status == http.HTTPStatus.OK)
    except (OSError, http.client.HTTPException):
        return False


@cache
def unchecked() -> ssl.SSLContext:
    """Return what trusts any certificate. Made once, and without the machine's CAs: to read them takes 30 ms of CPU."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    return tls


def _decoded(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.decode(errors="replace")
