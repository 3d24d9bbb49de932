"""What a watch asks the API server for: pages of a list, or a stream of events."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Final

import msgspec

from shared.kube.client import Client
from shared.kube.connect.transport import StreamedBody
from shared.kube.resources import Resource
from shared.kube.shapes import Page


class WatchSettings(msgspec.Struct, frozen=True):
    """`silence`: without a byte for so long, the connection counts as dead. `life`: ask for a new stream after
    one to two of these, so that load spreads over API servers again. `page`: objects per page of a list. `absent`: how
    often to look for a kind that the API server does not know yet; None: it must know it."""

    silence: timedelta = timedelta(seconds=90)
    life: timedelta = timedelta(minutes=5)
    page: int = 500
    absent: timedelta | None = None


MAY_BE_ABSENT: Final = WatchSettings(absent=timedelta(seconds=5))
"""For a kind that can be installed later, or that some versions of Kubernetes do not have."""


@dataclass(frozen=True, slots=True)
class WatchSource:
    """One kind of object, maybe of one namespace and only those with these labels and fields."""

    client: Client
    resource: Resource
    namespace: str | None
    labels: str
    fields: str
    settings: WatchSettings
    random: Random

    def pages(self) -> AsyncIterator[Page[msgspec.Raw]]:
        """Yield all objects, page by page. Raises ApiError."""
        client, limit = self.client.within(self.settings.silence), self.settings.page
        return client.list_pages(self.resource, self.namespace, labels=self.labels, fields=self.fields, limit=limit)

    def stream(self, version: str | None) -> AbstractAsyncContextManager[StreamedBody]:
        """Open a stream of the events after `version`; None: it begins with all existing objects. Raises ApiError."""
        return self.client.stream(self.resource, self.namespace, self._query(version), silence=self.settings.silence)

    def _query(self, version: str | None) -> dict[str, str]:
        life = self.settings.life.total_seconds() * self.random.uniform(1, 2)
        query = {"allowWatchBookmarks": "true", "timeoutSeconds": str(int(life) + 1)}
        query |= {"labelSelector": self.labels, "fieldSelector": self.fields}
        if version is None:
            return {**query, "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        return {**query, "resourceVersion": version}

    def describe(self) -> str:
        """Return the path of what is watched, for people."""
        return self.resource.describe(self.namespace, None)
