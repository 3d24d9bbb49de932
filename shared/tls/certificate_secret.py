"""The certificate of a server in its Secret, and the CA bundles of its clients."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ClassVar, Protocol

from shared.kube.client import Client
from shared.kube.watch.watches import Watches
from shared.tls.rotation import AUTHORITY, CertificateLifetimes, bundle_of, leaf_of, next_contents
from shared.tls.rotator import CHECK, RETRY
from shared.tls.serving_cert import CertificateHolder
from shared.tls.watched_secret import WatchedSecret


def watch_certificate(
    client: Client, watches: Watches, holder: CertificateHolder, namespace: str, name: str
) -> WatchedSecret:
    """Serve the certificate in the Secret, independent of its source."""

    def show(contents: Mapping[str, bytes]) -> None:
        leaf = leaf_of(contents)
        if leaf is not None:
            holder.show(leaf)

    return WatchedSecret(client, watches, namespace, name, show)


class Bundles(Protocol):
    """The CA bundles in the objects that configure the server's clients."""

    def published_for(self, authority: bytes, now: datetime) -> timedelta | None:
        """For how long all of them have trusted `authority`; None if one does not."""

    async def publish(self, bundle: bytes) -> None:
        """Make all of them trust exactly `bundle`. Raises ApiError."""


class CertificateContents:
    """A certificate of Quotree's own, according to `rotation`."""

    kind: ClassVar = "kubernetes.io/tls"

    def __init__(self, bundles: Bundles, terms: CertificateLifetimes, overlap: timedelta) -> None:
        self._bundles = bundles
        self._terms = terms
        self._overlap = overlap

    def next(self, contents: Mapping[str, bytes], now: datetime) -> Mapping[str, bytes]:
        """Return what the Secret should contain."""
        published = self._published_for(contents, now)
        return next_contents(contents, self._terms, now, published=published is not None and published >= self._overlap)

    async def publish(self, contents: Mapping[str, bytes], now: datetime) -> timedelta:
        """Make the clients trust its CA. Raises ApiError."""
        published = self._published_for(contents, now)
        await self._bundles.publish(bundle_of(contents))
        return pause_before_check(published, self._overlap, self._terms.leaf_life)

    def _published_for(self, contents: Mapping[str, bytes], now: datetime) -> timedelta | None:
        return self._bundles.published_for(contents.get(AUTHORITY, b"-"), now)


def pause_before_check(published: timedelta | None, overlap: timedelta, leaf_life: timedelta) -> timedelta:
    """Return how long to wait for a change before checking again; `published`: for how long clients trust the CA.

    Until they do, and while a new CA waits for its overlap to end, something is due soon. Then only time makes the
    certificate due, in the last third of its life.
    """
    if published is None:
        return RETRY
    remaining = overlap - published
    return max(RETRY, min(CHECK, remaining if remaining > timedelta() else leaf_life / 30))
