"""Read which quota objects are stored, by a consistent list of which only changed objects are decoded."""

from collections.abc import Collection, Mapping

import msgspec

from shared.kube.client import Client
from shared.kube.resources import QUOTA_GROUPS, RESOURCE_FLAVORS, Resource
from shared.quota.model.read.groups import read_group
from shared.quota.model.tree import Group, Tree
from shared.telemetry import get_logger
from webhook.quota.edits import FLAVOR, GROUP, number, read_version
from webhook.quota.stored.reservations import StoredVersion

EVERYTHING = 0
"""The limit for a complete list: the API server then answers it from its cache, made consistent."""


log = get_logger(__name__)


class StoredState:
    """What is known to be stored: the tree and the version of each object, true up to `revision`.

    `leaving`: groups whose deletion waits only for a finalizer of others; they disappear without another review.
    `is_newest`: read consistently just now; otherwise as a watch reported it.
    """

    def __init__(
        self,
        tree: Tree,
        versions: Mapping[tuple[str, str], StoredVersion],
        leaving: Collection[str],
        revision: int,
        *,
        is_newest: bool,
    ) -> None:
        self.tree = tree
        self.leaving = leaving
        self.revision = revision
        self.is_newest = is_newest
        self._versions = versions

    def version(self, kind: str, name: str) -> StoredVersion | None:
        """Return the stored version of the object, or None if it does not exist."""
        return self._versions.get((kind, name))


class ConsistentReader:
    """Reads what is stored, and reuses groups that have not changed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._groups: dict[str, tuple[StoredVersion, Group]] = {}
        self._tree = Tree.of(())

    async def read(self, *, flavors: bool) -> StoredState:
        """Return at least everything stored before this call. Raises ApiError."""
        versions: dict[tuple[str, str], StoredVersion] = {}
        groups: dict[str, tuple[StoredVersion, Group]] = {}
        leaving: list[str] = []
        raws, revision = await self._list(QUOTA_GROUPS)
        for raw in raws:
            metadata = read_version(raw)
            name, version = metadata.name, StoredVersion(metadata.uid, metadata.resource_version)
            if metadata.is_leaving:
                leaving.append(name)
            known = self._groups.get(name)
            groups[name] = (
                known if known is not None and known[0] == version else (version, self._read_group(name, raw))
            )
            versions[GROUP, name] = version
        if flavors:
            for raw in (await self._list(RESOURCE_FLAVORS))[0]:
                metadata = read_version(raw)
                versions[FLAVOR, metadata.name] = StoredVersion(metadata.uid, metadata.resource_version)
        if groups != self._groups:
            self._tree = self._rebuilt(groups)
            self._groups = groups
        return StoredState(self._tree, versions, leaving, revision, is_newest=True)

    def _read_group(self, name: str, raw: msgspec.Raw) -> Group:
        """Return the group; as it was known where reading it fails, so that edits of others are judged all the same."""
        try:
            return read_group(raw)
        except Exception:
            log.exception("Group not read: our own bug", group=name)
            known = self._groups.get(name)
            return Group(name) if known is None else known[1]

    def _rebuilt(self, groups: Mapping[str, tuple[StoredVersion, Group]]) -> Tree:
        """Return the tree of these groups, derived from the previous one where little has changed."""
        gone = self._groups.keys() - groups.keys()
        news = [each for name, each in groups.items() if self._groups.get(name) != each]
        if len(gone) + len(news) > 16 or gone:
            return Tree.of(group for _, group in groups.values())
        tree = self._tree
        for _, group in news:
            tree = tree.with_group(group)
        return tree

    async def _list(self, resource: Resource) -> tuple[list[msgspec.Raw], int]:
        found: list[msgspec.Raw] = []
        revision = 0
        async for page in self._client.list_pages(resource, limit=EVERYTHING):
            found += page.items
            revision = number(page.resource_version)
        return found, revision
