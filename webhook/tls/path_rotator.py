"""Maintains the Secret with the caller path and the configurations that contain it, together with all replicas."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from shared.kube.client import Client
from shared.kube.errors import AlreadyExists, ApiError, Conflict
from shared.kube.resources import SECRETS
from shared.kube.watch.cache import Change, transitions
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import Watch
from shared.telemetry import get_logger
from shared.tls.rotator import SecretRecord, read_secret, secret_body, secret_change
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

_CHECK: Final = timedelta(minutes=1)
_RETRY: Final = timedelta(seconds=2)
GRACE: Final = timedelta(minutes=1)
"""How long the previous path is accepted after the configurations name the new one for `overlap`."""

log = get_logger(__name__)


class CallerPaths:
    """The paths that callers can use now; with `any_caller` the plain routes."""

    def __init__(self, *, any_caller: bool) -> None:
        self._any_caller = any_caller
        self.tokens: tuple[str, ...] = ()
        self.known = asyncio.Event()
        if any_caller:
            self.known.set()

    def route_of(self, path: str) -> str | None:
        """Return the route of the path; None for a caller who does not know the secret part."""
        return path if self._any_caller else route_of_path(path, self.tokens)

    def problem(self) -> str | None:
        """None once the path is known."""
        return None if self.known.is_set() else "the path that the API server calls is not known yet"


class PathRotator:
    """Maintains Secret and configurations according to `caller_path`."""

    def __init__(  # noqa: PLR0913
        self,
        client: Client,
        watches: Watches,
        configurations: WebhookConfigurations,
        holder: CertificateHolder,
        paths: CallerPaths,
        *,
        namespace: str,
        name: str,
        overlap: timedelta,
    ) -> None:
        self._client = client
        self._configurations = configurations
        self._holder = holder
        self._paths = paths
        self._namespace = namespace
        self._name = name
        self._overlap = overlap
        self._seen: SecretRecord | None = None
        self._last: dict[str, bytes] = {}
        """The last content of the Secret: a deleted Secret is written again, because the API server calls this path."""
        self._first_seen: tuple[bytes, datetime] = (b"", datetime.min.replace(tzinfo=UTC))
        self._published: datetime | None = None
        self.changed = asyncio.Event()
        configurations.listeners.append(self.changed.set)
        holder.listeners.append(self.changed.set)
        fields = f"metadata.name={name}"
        watches.add(Watch(client, SECRETS, read_secret, self._see, namespace=namespace, fields=fields))

    def _see(self, changes: Sequence[Change[SecretRecord]]) -> None:
        for _, self._seen in transitions(changes):
            if self._seen is not None:
                self._accept(self._seen.data)
        self.changed.set()

    def _accept(self, contents: dict[str, bytes]) -> None:
        tokens = accepted_tokens(contents)
        if tokens:
            self._last, self._paths.tokens = dict(contents), tokens
            self._paths.known.set()

    async def run(self) -> None:
        """Run indefinitely: on every change and every minute."""
        while True:
            wait = _CHECK
            self.changed.clear()
            try:
                wait = await self._step(datetime.now(UTC))
            except ApiError as error:
                log.warning("Path of callers not kept", error=str(error))
                wait = _RETRY
            with suppress(TimeoutError):
                async with asyncio.timeout(wait.total_seconds()):
                    await self.changed.wait()

    async def _step(self, now: datetime) -> timedelta:
        valid_from = self._holder.valid_from
        if valid_from is None:
            return _CHECK
        contents = self._last if self._seen is None else self._seen.data
        published = self._published_for(contents, now)
        wanted = next_path_contents(contents, valid_from, published=published > self._overlap + GRACE)
        if self._seen is None or wanted != contents:
            await self._write(wanted)
            return _RETRY
        tokens = accepted_tokens(contents)
        if contents[PATH] != self._first_seen[0]:
            self._first_seen = (contents[PATH], now)
        switch = len(tokens) == 1 or now - self._first_seen[1] > self._overlap
        await self._configurations.change(
            "path", lambda plural, at, entry: path_operations(plural, at, entry, tokens, switch=switch)
        )
        return _CHECK if len(tokens) == 1 else _RETRY

    def _published_for(self, contents: dict[str, bytes], now: datetime) -> timedelta:
        """For how long every entry has named the current path."""
        tokens = accepted_tokens(contents)
        for plural, entry in self._configurations.entries():
            if not tokens or entry.client_config.path != called_path(tokens[0], route_of_entry(plural, entry)):
                self._published = None
                return timedelta()
        self._published = self._published or now
        return now - self._published

    async def _write(self, contents: dict[str, bytes]) -> None:
        """Compare and swap: the second writer uses what the first has written."""
        with suppress(AlreadyExists, Conflict):
            if self._seen is None:
                body = secret_body(self._name, self._namespace, "Opaque", contents)
                await self._client.create(SECRETS, body, self._namespace)
            else:
                change = secret_change(self._seen, contents)
                await self._client.patch_merge(SECRETS, self._name, change, self._namespace)
            log.info("Path of callers made", stored=f"{self._namespace}/{self._name}")
