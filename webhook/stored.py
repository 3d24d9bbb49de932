"""Which quota objects are stored right now: one consistent list, of which only what changed is read anew."""

from collections.abc import Mapping, Sequence

import msgspec

from shared.kube.client import Client
from shared.kube.resources import QUOTA_GROUPS, RESOURCE_FLAVORS, Resource
from shared.quota.model.group_reading import read_group
from shared.quota.model.tree import Group, Tree
from webhook.flavors import KIND as FLAVOR
from webhook.ledger import StoredVersion
from webhook.quotagroups import KIND as GROUP


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str = ""


class _Envelope(msgspec.Struct):
    metadata: _Metadata


_envelope = msgspec.json.Decoder(_Envelope).decode
EVERYTHING = 0
"""The limit of a list that is wanted whole: the API server then answers it from its cache, made consistent."""


class Stored:
    """The state at one consistent read: the tree, and which version of each object that is.

    `leaving`: groups whose deletion only waits for a finalizer; they will go without another review.
    """

    def __init__(
        self, tree: Tree, versions: Mapping[tuple[str, str], StoredVersion], leaving: Sequence[str] = ()
    ) -> None:
        self.tree = tree
        self.leaving = leaving
        self._versions = versions

    def version(self, kind: str, name: str) -> StoredVersion | None:
        """Which state of the object is stored; None: it is not there."""
        return self._versions.get((kind, name))


class StoredObjects:
    """Reads what is stored, and keeps groups that have not changed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._groups: dict[str, tuple[StoredVersion, Group]] = {}
        self._tree = Tree.of(())

    async def read(self, *, flavors: bool) -> Stored:
        """Everything that was stored before this call, at the least. Raises ApiError."""
        versions: dict[tuple[str, str], StoredVersion] = {}
        groups: dict[str, tuple[StoredVersion, Group]] = {}
        leaving: list[str] = []
        for raw in await self._list(QUOTA_GROUPS):
            metadata = _envelope(raw).metadata
            name, version = metadata.name, StoredVersion(metadata.uid, metadata.resource_version)
            if metadata.deletion_timestamp:
                leaving.append(name)
            known = self._groups.get(name)
            groups[name] = known if known is not None and known[0] == version else (version, read_group(raw))
            versions[GROUP, name] = version
        if flavors:
            for raw in await self._list(RESOURCE_FLAVORS):
                metadata = _envelope(raw).metadata
                versions[FLAVOR, metadata.name] = StoredVersion(metadata.uid, metadata.resource_version)
        if groups != self._groups:
            self._tree = self._grown(groups)
            self._groups = groups
        return Stored(self._tree, versions, leaving)

    def _grown(self, groups: Mapping[str, tuple[StoredVersion, Group]]) -> Tree:
        """The tree of these groups, made from the last one where little has changed."""
        gone = self._groups.keys() - groups.keys()
        news = [each for name, each in groups.items() if self._groups.get(name) != each]
        if len(gone) + len(news) > 16 or gone:
            return Tree.of(group for _, group in groups.values())
        tree = self._tree
        for _, group in news:
            tree = tree.with_group(group)
        return tree

    async def _list(self, resource: Resource) -> list[msgspec.Raw]:
        return [raw async for page in self._client.list_pages(resource, limit=EVERYTHING) for raw in page.items]
