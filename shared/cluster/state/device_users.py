"""Who names which ResourceClaims and templates, and the pods with the devices that their claims hold. Pure.

A pod's record shows what its spec says. What its claims hold, others say, and later: the record is completed when it is
seen, and again when one of its claims or templates appears, changes or goes.

See docs/specification.md §2.10.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from shared.api.core.job import Job
from shared.api.core.pod import PodResourceClaim
from shared.cluster.state.observed.job_pods import highest
from shared.cluster.state.observed.projections import FinishedOwner, PodRecord
from shared.cluster.state.sorts.registry import owner_sort_of
from shared.cluster.state.sorts.sort import Owner
from shared.kinds.kind_object import KindObject
from shared.quota.measure.static.using_pods import UsingPod
from shared.quota.model.devices.claims import DeviceRef, refs_of
from shared.quota.model.namespace_context import NamespaceContexts, Transition

DeviceOwner = Job | KindObject | FinishedOwner
PodTransitions = Sequence[Transition[PodRecord]]


class _Pod(NamedTuple):
    """A pod as written, and with its devices."""

    seen: PodRecord
    completed: PodRecord


class _NamedBy:
    """Who names what: the key of an owner, or the uid of a pod -> its claims and templates, and the inverse."""

    def __init__(self) -> None:
        self._refs: dict[str, Sequence[DeviceRef]] = {}
        self._users: dict[DeviceRef, set[str]] = {}

    def put(self, user: str, refs: Sequence[DeviceRef]) -> None:
        """`user` names exactly these now."""
        for ref in self._refs.pop(user, ()):
            users = self._users[ref]
            users.discard(user)
            if not users:
                del self._users[ref]
        for ref in refs:
            self._users.setdefault(ref, set()).add(user)
        if refs:
            self._refs[user] = tuple(dict.fromkeys(refs))

    def users(self, refs: Iterable[DeviceRef]) -> set[str]:
        """Return all users that name one of them."""
        return {user for ref in refs for user in self._users.get(ref, ())}


class DeviceUsers:
    """`namespaces` knows the claims. Where devices are not counted, nothing is kept and nothing changed."""

    def __init__(self, namespaces: NamespaceContexts) -> None:
        self._namespaces = namespaces
        self._owners = _NamedBy()
        self._claimants = _NamedBy()
        self._pods: dict[str, _Pod] = {}

    def observe_owner(self, before: DeviceOwner | None, after: DeviceOwner | None) -> None:
        """Process a change of a Job or an object of a governed kind."""
        if self._namespaces.devices is None:
            return
        if after is None or isinstance(after, FinishedOwner):
            gone = after or before
            if gone is not None:
                self._owners.put(gone.key if isinstance(gone, FinishedOwner) else owner_sort_of(gone).key_of(gone), ())
        else:
            self._owners.put(owner_sort_of(after).key_of(after), refs_of(after.metadata.namespace, _claims_of(after)))

    def owners_naming(self, refs: Iterable[DeviceRef]) -> set[str]:
        """Return the keys of the owners whose pods would use devices of one of these claims or templates."""
        return self._owners.users(refs)

    def with_devices(self, changes: PodTransitions) -> PodTransitions:
        """Return the same changes of pods, with the devices that they use."""
        return changes if self._namespaces.devices is None else [self._see(old, new) for old, new in changes]

    def pods_naming(self, refs: Iterable[DeviceRef]) -> PodTransitions:
        """Return the pods that name one of them, before and after the change."""
        found: list[Transition[PodRecord]] = []
        for uid in self._claimants.users(refs):
            seen, before = self._pods[uid]
            after = self._completed(seen, before)
            self._pods[uid] = _Pod(seen, after)
            found.append((before, after))
        return found

    def _see(self, old: PodRecord | None, new: PodRecord | None) -> Transition[PodRecord]:
        before = None if old is None else self._known(old)
        if new is None:
            if old is not None:
                self._forget(old.uid)
            return before, None
        known = self._pods.get(new.uid)
        after, claims = self._completed(new, None if known is None else known.completed), _claims_in(new)
        if claims:
            self._pods[new.uid] = _Pod(new, after)
            self._claimants.put(new.uid, refs_of(_namespace(new), claims))
        else:
            self._forget(new.uid)
        return before, after

    def _known(self, old: PodRecord) -> PodRecord:
        """Return the record as it was passed on: as it is, if it names no claims."""
        found = self._pods.get(old.uid)
        return old if found is None else found.completed

    def _forget(self, uid: str) -> None:
        if self._pods.pop(uid, None) is not None:
            self._claimants.put(uid, ())

    def _completed(self, record: PodRecord, before: PodRecord | None = None) -> PodRecord:
        """With the devices that it takes; no less than `before` until its claims are seen.

        Its claims may hold what the templates said before. The watch that shows these may lag behind.
        """
        using = record.using
        devices = None if using is None else self._namespaces.devices_of(using.namespace)
        if using is None or devices is None:
            return record
        request = devices.added_to(using.request, using.claims)
        if before is not None and before.using is not None and not devices.are_made(using.claims):
            request = highest(request, before.using.request)
        if request == using.request:
            return record
        return msgspec.structs.replace(record, using=msgspec.structs.replace(using, request=dict(request)))


def _claims_of(owner: Owner) -> list[PodResourceClaim]:
    return [each for spec in owner_sort_of(owner).pod_specs(owner) for each in spec.resource_claims]


def _claims_in(record: PodRecord) -> Sequence[PodResourceClaim]:
    if record.using is not None:
        return record.using.claims
    return [] if record.work is None else record.work.spec.resource_claims


def _namespace(record: PodRecord) -> str:
    if isinstance(record.using, UsingPod):
        return record.using.namespace
    return "" if record.work is None else record.work.metadata.namespace
