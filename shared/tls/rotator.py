"""Maintains the certificate Secret and the CA bundles of clients, together with all replicas; or reads files.

The Secret is the source of truth. Every replica watches it, any replica repairs it by compare-and-swap, and each writes
the CAs into the objects that configure clients whenever they are missing there.
"""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Protocol

from shared.api.reading import View, reader
from shared.kube.client import Client
from shared.kube.errors import AlreadyExists, ApiError, Conflict
from shared.kube.resources import SECRETS
from shared.kube.watch.cache import Change, transitions
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import Watch
from shared.telemetry import get_logger
from shared.tls.ca import KeyPair
from shared.tls.rotation import AUTHORITY, CertificateLifetimes, bundle_of, leaf_of, next_contents
from shared.tls.serving_cert import CertificateHolder

_CHECK: Final = timedelta(minutes=1)
_RETRY: Final = timedelta(seconds=2)
_POLL: Final = timedelta(seconds=1)

log = get_logger(__name__)


class _SecretMetadata(View, frozen=True):
    uid: str = ""
    resource_version: str = ""


class SecretRecord(View, frozen=True):
    """The Secret as last seen."""

    metadata: _SecretMetadata = _SecretMetadata()
    data: dict[str, bytes] = {}


read_secret = reader(SecretRecord)


class SecretCertificate:
    """Serves the certificate in the Secret, independent of its source."""

    def __init__(self, client: Client, watches: Watches, holder: CertificateHolder, namespace: str, name: str) -> None:
        self._holder = holder
        self.seen: SecretRecord | None = None
        self.changed = asyncio.Event()
        fields = f"metadata.name={name}"
        watches.add(Watch(client, SECRETS, read_secret, self._see, namespace=namespace, fields=fields))

    def _see(self, changes: Sequence[Change[SecretRecord]]) -> None:
        for _, self.seen in transitions(changes):
            leaf = None if self.seen is None else leaf_of(self.seen.data)
            if leaf is not None:
                self._holder.show(leaf)
        self.changed.set()


class Bundles(Protocol):
    """The CA bundles in the objects that configure the server's clients."""

    changed: asyncio.Event
    """Set when one of those objects changes."""

    def published_for(self, authority: bytes, now: datetime) -> timedelta | None:
        """For how long all of them have trusted `authority`; None if one does not."""

    async def publish(self, bundle: bytes) -> None:
        """Make all of them trust exactly `bundle`. Raises ApiError."""


def secret_body(name: str, namespace: str, kind: str, contents: Mapping[str, bytes]) -> dict[str, Any]:
    """Return a new Secret."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": _encoded(contents)}


def secret_change(seen: SecretRecord, contents: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the merge patch that writes `contents` into the Secret, if it is still as it was read."""
    removed: dict[str, Any] = dict.fromkeys(seen.data.keys() - contents.keys())
    version = {"uid": seen.metadata.uid, "resourceVersion": seen.metadata.resource_version}
    return {"metadata": version, "data": {**removed, **_encoded(contents)}}


def _encoded(contents: Mapping[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(value).decode() for name, value in sorted(contents.items())}


def pause_before_check(published: timedelta | None, overlap: timedelta, leaf_life: timedelta) -> timedelta:
    """Return how long to wait for a change before checking again; `published`: for how long clients trust the CA.

    Until they do, and while a new CA waits for its overlap to end, something is due soon. Then only time makes the
    certificate due, in the last third of its life.
    """
    if published is None:
        return _RETRY
    remaining = overlap - published
    return max(_RETRY, min(_CHECK, remaining if remaining > timedelta() else leaf_life / 30))


class CertificateRotator:
    """Maintains the Secret and the bundles according to `rotation`."""

    def __init__(  # noqa: PLR0913
        self,
        client: Client,
        secret: SecretCertificate,
        bundles: Bundles,
        terms: CertificateLifetimes,
        *,
        namespace: str,
        name: str,
        overlap: timedelta,
    ) -> None:
        self._client = client
        self._secret = secret
        self._bundles = bundles
        self._terms = terms
        self._namespace = namespace
        self._name = name
        self._overlap = overlap
        self._last: dict[str, bytes] = {}
        """The last content of the Secret: a deleted Secret is written again, because clients trust its CA."""

    async def run(self) -> None:
        """Run indefinitely: on every change, and every minute or more often for a short-lived certificate."""
        while True:
            wait = _CHECK
            self._secret.changed.clear()
            self._bundles.changed.clear()
            try:
                wait = await self._step(datetime.now(UTC))
            except ApiError as error:
                log.warning("Certificate not kept", error=str(error))
                wait = _RETRY
            await self._woken(wait)

    async def _woken(self, wait: timedelta) -> None:
        waiting = [asyncio.create_task(event.wait()) for event in (self._secret.changed, self._bundles.changed)]
        try:
            await asyncio.wait(waiting, timeout=wait.total_seconds(), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    async def _step(self, now: datetime) -> timedelta:
        seen = self._secret.seen
        contents = self._last if seen is None else seen.data
        published = self._bundles.published_for(contents.get(AUTHORITY, b"-"), now)
        wanted = next_contents(
            contents, self._terms, now, published=published is not None and published >= self._overlap
        )
        if seen is None or wanted != contents:
            await self._write(seen, wanted)
            return _RETRY
        self._last = wanted
        await self._bundles.publish(bundle_of(contents))
        return pause_before_check(published, self._overlap, self._terms.leaf_life)

    async def _write(self, seen: SecretRecord | None, contents: dict[str, bytes]) -> None:
        """Compare and swap: the second writer uses what the first has written."""
        with suppress(AlreadyExists, Conflict):
            if seen is None:
                body = secret_body(self._name, self._namespace, "kubernetes.io/tls", contents)
                await self._client.create(SECRETS, body, self._namespace)
            else:
                await self._client.patch_merge(SECRETS, self._name, secret_change(seen, contents), self._namespace)
            log.info("Certificate made", stored=f"{self._namespace}/{self._name}")


class FileCertificate:
    """Serves tls.crt and tls.key of a folder; an incomplete pair is not used until it is complete."""

    def __init__(self, holder: CertificateHolder, directory: str) -> None:
        self._holder = holder
        self._folder = Path(directory)
        self._tried: KeyPair | None = None

    def look(self) -> None:
        """Use the files if they are new and valid."""
        try:
            pair = KeyPair((self._folder / "tls.crt").read_bytes(), (self._folder / "tls.key").read_bytes())
        except OSError as error:
            log.warning("Certificate files cannot be read", reason=str(error))
            return
        if pair != self._tried:
            self._tried = pair
            self._holder.show(pair)

    async def run(self) -> None:
        """Run indefinitely, once a second."""
        while True:
            self.look()
            await asyncio.sleep(_POLL.total_seconds())
