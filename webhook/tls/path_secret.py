"""The caller path in its Secret, and in the configurations that contain it."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final

from shared.tls.rotator import CHECK, RETRY
from shared.tls.serving_cert import CertificateHolder
from webhook.tls.caller_path import (
    PATH,
    accepted_tokens,
    called_path,
    next_path_contents,
    path_operations,
    route_of_path,
)
from webhook.tls.configurations import WebhookConfigurations, route_of_entry

GRACE: Final = timedelta(minutes=1)
"""How long the previous path is accepted after the configurations name the new one for `overlap`."""


class CallerPaths:
    """The paths that callers can use now; with `any_caller` the plain routes."""

    def __init__(self, *, any_caller: bool) -> None:
        self._any_caller = any_caller
        self.tokens: tuple[str, ...] = ()
        self.known = asyncio.Event()
        if any_caller:
            self.known.set()

    def accept(self, contents: Mapping[str, bytes]) -> None:
        """Accept the paths in the Secret; if there is none, those of before."""
        tokens = accepted_tokens(contents)
        if tokens:
            self.tokens = tokens
            self.known.set()

    def route_of(self, path: str) -> str | None:
        """Return the route of the path; None for a caller who does not know the secret part."""
        return path if self._any_caller else route_of_path(path, self.tokens)

    def problem(self) -> str | None:
        """None once the path is known."""
        return None if self.known.is_set() else "the path that the API server calls is not known yet"


class PathContents:
    """A path of Quotree's own, according to `caller_path`: it is replaced with the certificate that `holder` serves."""

    kind: ClassVar = "Opaque"

    def __init__(self, configurations: WebhookConfigurations, holder: CertificateHolder, overlap: timedelta) -> None:
        self._configurations = configurations
        self._holder = holder
        self._overlap = overlap
        self._first_seen: tuple[bytes, datetime] = (b"", datetime.min.replace(tzinfo=UTC))
        self._published: datetime | None = None

    def next(self, contents: Mapping[str, bytes], now: datetime) -> Mapping[str, bytes] | None:
        """Return what the Secret should contain; None before a certificate is served."""
        valid_from = self._holder.valid_from
        if valid_from is None:
            return None
        published = self._published_for(contents, now) > self._overlap + GRACE
        return next_path_contents(contents, valid_from, published=published)

    async def publish(self, contents: Mapping[str, bytes], now: datetime) -> timedelta:
        """Write the path into the configurations, a new one once every replica had time to read it. Raises ApiError."""
        tokens = accepted_tokens(contents)
        if contents[PATH] != self._first_seen[0]:
            self._first_seen = (contents[PATH], now)
        switch = len(tokens) == 1 or now - self._first_seen[1] > self._overlap
        await self._configurations.change(
            "path", lambda plural, at, entry: path_operations(plural, at, entry, tokens, switch=switch)
        )
        return CHECK if len(tokens) == 1 else RETRY

    def _published_for(self, contents: Mapping[str, bytes], now: datetime) -> timedelta:
        """For how long every entry has named the current path."""
        tokens = accepted_tokens(contents)
        for plural, entry in self._configurations.entries():
            if not tokens or entry.client_config.path != called_path(tokens[0], route_of_entry(plural, entry)):
                self._published = None
                return timedelta()
        self._published = self._published or now
        return now - self._published
