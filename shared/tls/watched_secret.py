"""One Secret that all replicas watch and write by compare-and-swap."""

import asyncio
import base64
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from shared.api.json.reading import View, reader
from shared.kube.client import Client
from shared.kube.errors import AlreadyExists, Conflict
from shared.kube.resources import SECRETS
from shared.kube.watch.cache import Change, transitions
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import Watch
from shared.telemetry import get_logger

log = get_logger(__name__)


class _SecretMetadata(View, frozen=True):
    uid: str = ""
    resource_version: str = ""


class SecretRecord(View, frozen=True):
    """The Secret as last seen."""

    metadata: _SecretMetadata = _SecretMetadata()
    data: dict[str, bytes] = {}


_read_secret = reader(SecretRecord)


class WatchedSecret:
    """The Secret `name`; `use` is called with its data whenever it is seen."""

    def __init__(
        self, client: Client, watches: Watches, namespace: str, name: str, use: Callable[[Mapping[str, bytes]], object]
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._use = use
        self.seen: SecretRecord | None = None
        self.changed = asyncio.Event()
        """Set when it changes, and by others when what it depends on does."""
        fields = f"metadata.name={name}"
        watches.add(Watch(client, SECRETS, _read_secret, self._see, namespace=namespace, fields=fields))

    def _see(self, changes: Sequence[Change[SecretRecord]]) -> None:
        for _, self.seen in transitions(changes):
            if self.seen is not None:
                self._use(self.seen.data)
        self.changed.set()

    async def write(self, kind: str, contents: Mapping[str, bytes]) -> None:
        """Create it, or replace its data if it is still as it was seen: the second writer uses what the first wrote.

        Raises ApiError.
        """
        with suppress(AlreadyExists, Conflict):
            if self.seen is None:
                body = {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {"name": self._name, "namespace": self._namespace},
                    "type": kind,
                    "data": _encoded(contents),
                }
                await self._client.create(SECRETS, body, self._namespace)
            else:
                await self._client.patch_merge(SECRETS, self._name, _change(self.seen, contents), self._namespace)
            log.info("Secret written", stored=f"{self._namespace}/{self._name}")


def _change(seen: SecretRecord, contents: Mapping[str, bytes]) -> dict[str, Any]:
    removed: dict[str, Any] = dict.fromkeys(seen.data.keys() - contents.keys())
    version = {"uid": seen.metadata.uid, "resourceVersion": seen.metadata.resource_version}
    return {"metadata": version, "data": {**removed, **_encoded(contents)}}


def _encoded(contents: Mapping[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(value).decode() for name, value in sorted(contents.items())}
