"""The objects of governed kinds and what their operators create of other kinds: who accounts for a new child."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from shared.api.core.metadata import Metadata, OwnerReference
from shared.api.json.reading import View, reader
from shared.api.names import GROUP_LABEL
from shared.kinds.kind import Kind, Kinds
from shared.kinds.reading import read_kind_object
from shared.kube.client import Client
from shared.kube.errors import NotFound
from shared.kube.resources import JOBS, PODS, Resource, resource_of_kind
from shared.kube.watch.cache import Change
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import MAY_BE_ABSENT, Watch
from shared.quota.model.rules.groups.names import is_name


class WorkloadRecord(msgspec.Struct, frozen=True, gc=False):
    """The part of a workload that rules about groups use: namespace, group label, whether it runs.

    `unit`: the uid of the governed object that it belongs to; then it is no workload of its own. `owner`: the object
    for which it might have been created, if it has no such label.
    """

    uid: str
    namespace: str
    label: str
    runs: bool
    over: bool
    unit: str = ""
    owner: OwnerReference | None = None
    pod_set: str = ""
    """Of a pod that counts for such an object."""


def owner_of(metadata: Metadata) -> OwnerReference | None:
    """The controller for which an object might have been created: of another kind, where the object has no label."""
    owner = metadata.controller
    is_foreign = owner is not None and "." in owner.api_version.partition("/")[0]
    return owner if is_foreign and not metadata.unit else None


ProjectOwner = Callable[[bytes], WorkloadRecord | None]
KindName = tuple[str, str]
"""API group and kind."""


@dataclass(frozen=True, slots=True)
class _Owners:
    """The watch of one kind, and the users as which operators create children of its objects."""

    resource: Resource
    project: ProjectOwner
    watch: Watch[WorkloadRecord]
    operators: frozenset[str]


class OwnerCache:
    """Read from the same event loop; updated by the watches it adds. `see` is called for objects of governed kinds."""

    def __init__(
        self,
        client: Client,
        watches: Watches,
        kinds: Kinds,
        see: Callable[[Sequence[Change[WorkloadRecord]]], None],
    ) -> None:
        self._client = client
        self._of_kind: dict[KindName, _Owners] = {}
        operators = _operators(kinds)
        for kind in kinds.suspended:
            self._add(watches, resource_of_kind(kind), kind_record(kind), see, operators)
        for resource in made_resources(kinds):
            self._add(watches, resource, child_record, _ignore, operators)

    def _add(
        self,
        watches: Watches,
        resource: Resource,
        project: ProjectOwner,
        see: Callable[[Sequence[Change[WorkloadRecord]]], None],
        operators: Mapping[KindName, frozenset[str]],
    ) -> None:
        name = f"{resource.plural}.{resource.group}"
        watch = watches.add(Watch(self._client, resource, project, see, name=name, settings=MAY_BE_ABSENT))
        kind = (resource.group, resource.kind)
        self._of_kind[kind] = _Owners(resource, project, watch, operators[kind])

    def __bool__(self) -> bool:
        """Return whether any kind is governed."""
        return bool(self._of_kind)

    def is_operator(self, owner: OwnerReference, user: str) -> bool:
        """Return whether the user is the operator that creates children of this owner."""
        found = self._of_kind.get(_name_of(owner))
        return found is not None and user in found.operators

    async def find(self, namespace: str, owner: OwnerReference) -> WorkloadRecord | None:
        """This owner; read from the API server if the watch might lag. None if it has ended. Raises ApiError."""
        known = self._of_kind.get(_name_of(owner))
        if known is None:
            return None
        found = known.watch.records.get(owner.uid)
        if found is None and is_name(owner.name) and is_name(namespace):
            try:
                found = known.project(await self._client.get(known.resource, owner.name, namespace))
            except NotFound:
                return None
        return found if found is not None and found.uid == owner.uid and not found.over else None


def _name_of(owner: OwnerReference) -> KindName:
    return (owner.api_version.partition("/")[0], owner.kind)


def _operators(kinds: Kinds) -> dict[KindName, frozenset[str]]:
    """Return the users that create children of these kinds and of the kinds between."""
    found: dict[KindName, frozenset[str]] = {}
    for kind in kinds.suspended:
        names = [(kind.group, kind.kind), *((each.api_version.partition("/")[0], each.kind) for each in kind.children)]
        for name in names:
            found[name] = found.get(name, frozenset()) | kind.operators
    return found


def made_resources(kinds: Kinds) -> list[Resource]:
    """Return what operators of governed kinds create, of kinds that are not governed themselves."""
    own = {(JOBS.group, JOBS.kind), (PODS.group, PODS.kind)}
    own |= {(kind.group, kind.kind) for kind in kinds.suspended}
    found: dict[KindName, Resource] = {}
    for kind in kinds.suspended:
        for each in kind.children:
            group, _, version = each.api_version.rpartition("/")
            if (group, each.kind) not in own:
                found[group, each.kind] = Resource(group, version, each.resource, each.kind, namespaced=True)
    return list(found.values())


def _ignore(_: Sequence[Change[WorkloadRecord]]) -> None:
    """Objects created by operators are no workloads."""


def kind_record(kind: Kind) -> ProjectOwner:
    """Return the part of an object of this kind that is kept; None for one of another controller."""

    def project(raw: bytes) -> WorkloadRecord | None:
        seen = read_kind_object(kind, raw)
        if seen.skipped:
            return None
        return _record(seen.metadata, runs=not seen.suspended, over=seen.finished)

    return project


class _Child(View, frozen=True):
    metadata: Metadata = Metadata()


_read_child = reader(_Child)


def child_record(raw: bytes) -> WorkloadRecord | None:
    """Return the part of an operator's object that is kept; None for one of another user."""
    metadata = _read_child(raw).metadata
    return _record(metadata, runs=True, over=False) if metadata.unit or owner_of(metadata) else None


def _record(metadata: Metadata, *, runs: bool, over: bool) -> WorkloadRecord:
    label = metadata.labels.get(GROUP_LABEL, "")
    return WorkloadRecord(metadata.uid, metadata.namespace, label, runs, over, metadata.unit, owner_of(metadata))
