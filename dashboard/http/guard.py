"""Who is answered by `quotree dashboard`: the page that it serves, and no other page or program that merely reaches it.

A web page of another origin cannot read answers (there are no CORS headers), cannot send the token (it does not know
it), and cannot become the same origin by a name that resolves to 127.0.0.1 (the Host header is checked).
"""

import hmac
import secrets
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
API: Final = "/api/"
_EXCHANGE: Final = "/api/token"
_SCHEME: Final = "Bearer "


class RequestGuard(Protocol):
    """Decides which requests are answered."""

    is_behind_proxy: bool
    """Whether a proxy adds the user's token to the page's requests."""

    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse forbidden requests. Raises web.HTTPException."""

    async def still_answers(self, request: web.Request) -> bool:
        """Return whether this request would be allowed now: a stream stays open for long."""


class PageGuard:
    """The token of one run of the process, and the checks of each request."""

    is_behind_proxy = False

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self._code = secrets.token_urlsafe(32)
        self.port = 0
        """Set once the port is known; until then no Host is right."""

    @property
    def address(self) -> str:
        """The page's address. The part after # never leaves the browser; the page sends it as a header."""
        return f"http://127.0.0.1:{self.port}/#token={self.token}"

    @property
    def address_to_open(self) -> str:
        """An address that works once. Others on the machine can read it in the arguments of the browser."""
        return f"http://127.0.0.1:{self.port}/#open={self._code}"

    def _exchange(self, request: web.Request) -> web.Response:
        """Return the token for the code of `address_to_open`, once."""
        if not _has(request, self._code):
            raise web.HTTPUnauthorized(text="this address works once: open the one that `quotree dashboard` printed\n")
        self._code = secrets.token_urlsafe(32)
        return web.json_response({"token": self.token})

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse requests that are not from the page itself; add the headers to every response that has not begun."""
        return await with_headers(self._answer(request, handler))

    async def still_answers(self, request: web.Request) -> bool:
        """True: the token is valid as long as the process runs."""
        return self._has_token(request)

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self._judge(request)
        return self._exchange(request) if request.path == _EXCHANGE else await handler(request)

    def _judge(self, request: web.Request) -> None:
        hosts = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        if request.host not in hosts:
            raise web.HTTPMisdirectedRequest(text="this is not a name of the dashboard\n")
        if request.headers.get("Origin", f"http://{request.host}") != f"http://{request.host}":
            raise web.HTTPForbidden(text="requests from another origin are refused\n")
        if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") and is_api(request):
            raise web.HTTPForbidden(text="requests from another site are refused\n")
        if is_api(request) and request.path != _EXCHANGE and not self._has_token(request):
            raise web.HTTPUnauthorized(text="open the address that `quotree dashboard` printed\n")

    def _has_token(self, request: web.Request) -> bool:
        return _has(request, self.token)


def _has(request: web.Request, secret: str) -> bool:
    given = request.headers.get("Authorization", "")
    return hmac.compare_digest(given.encode(errors="replace"), f"{_SCHEME}{secret}".encode())


async def with_headers(answering: Awaitable[web.StreamResponse]) -> web.StreamResponse:
    """Await a response and add the headers, unless it has begun; also to a refusal. Raises web.HTTPException."""
    try:
        answer = await answering
    except web.HTTPException as refusal:
        refusal.headers.update(HEADERS)
        raise
    if not answer.prepared:
        answer.headers.update(HEADERS)
    return answer


def is_api(request: web.Request) -> bool:
    """Return whether the request is for data rather than for the page's own files."""
    return request.path.startswith(API)
