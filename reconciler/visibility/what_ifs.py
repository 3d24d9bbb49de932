"""Answers what an edit of quota objects would change: decided in a child process on a copy of all that is known.

The child shows its copy the edit as a watch would, and decides the world with the edit and without it until nothing
changes. So membership, the nodes of flavors and use outside quota are judged as they would be after the edit. See
docs/specification.md §14.3.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from reconciler.state.cluster_state import ClusterState
from reconciler.state.observed.projections import project_group
from reconciler.visibility.forked import ForkedWork, TooBusy
from reconciler.visibility.objects.kinds import API_VERSION, WHAT_IF, Json
from reconciler.visibility.objects.observed import write_moment
from reconciler.visibility.plans import Plans
from reconciler.visibility.requests import BadRequest
from shared.api.reading import Unreadable
from shared.kube.watch.cache import Changed
from shared.quota.decide.simulate.effects import effects_as_data, effects_of
from shared.quota.decide.simulate.what_if import predict_in_steps
from shared.quota.model.read.groups import read_flavor

MOST_OBJECTS: Final = 100
LIMIT: Final = timedelta(milliseconds=2500)
"""The admission webhook waits a little longer for an answer."""
_encode: Final = msgspec.json.Encoder().encode


class _Kind(msgspec.Struct):
    kind: str = ""


class _Gone(msgspec.Struct):
    kind: str
    name: str


class _Spec(msgspec.Struct):
    apply: list[msgspec.Raw] = []
    delete: list[_Gone] = []


class _Body(msgspec.Struct):
    spec: _Spec


@dataclass(frozen=True, slots=True)
class EditedObjects:
    """The edit: QuotaGroups and ResourceFlavors as they would be stored, and the names of those that would be gone."""

    groups: tuple[bytes, ...]
    flavors: tuple[bytes, ...]
    without_groups: tuple[str, ...] = ()
    without_flavors: tuple[str, ...] = ()

    def show(self, state: ClusterState) -> None:
        """Let `state` see the edit as its watches would."""
        groups = [project_group(each) for each in self.groups]
        state.see_groups([Changed(state.groups.get(each.group.name), each) for each in groups])
        state.see_groups([Changed(state.groups[name], None) for name in self.without_groups if name in state.groups])
        flavors = [read_flavor(each) for each in self.flavors]
        gone = [state.flavors[name] for name in self.without_flavors if name in state.flavors]
        if flavors or gone:
            changed = [Changed(state.flavors.get(each.name), each) for each in flavors]
            state.see_flavors([*changed, *(Changed(each, None) for each in gone)])


def read_what_if(body: bytes) -> EditedObjects:
    """Read the edit of a WhatIf. Raises BadRequest."""
    try:
        spec = msgspec.json.decode(body, type=_Body).spec
        kinds = [msgspec.json.decode(each, type=_Kind).kind for each in spec.apply]
        found = EditedObjects(
            tuple(bytes(each) for each, kind in zip(spec.apply, kinds, strict=True) if kind == "QuotaGroup"),
            tuple(bytes(each) for each, kind in zip(spec.apply, kinds, strict=True) if kind == "ResourceFlavor"),
            tuple(each.name for each in spec.delete if each.kind == "QuotaGroup"),
            tuple(each.name for each in spec.delete if each.kind == "ResourceFlavor"),
        )
        for group in found.groups:
            project_group(group)
        for flavor in found.flavors:
            read_flavor(flavor)
    except (msgspec.MsgspecError, Unreadable) as error:
        raise BadRequest(f"spec cannot be read: {error}") from error
    count = len(spec.apply) + len(spec.delete)
    known = len(found.groups) + len(found.flavors) + len(found.without_groups) + len(found.without_flavors)
    if not 0 < count <= MOST_OBJECTS or known != count:
        raise BadRequest(f"spec must have 1 to {MOST_OBJECTS} objects of the kinds QuotaGroup and ResourceFlavor")
    return found


class WhatIfs:
    """Answers one at a time, beside explanations."""

    def __init__(self, plans: Plans) -> None:
        self._plans = plans
        self._forked = ForkedWork(limit=LIMIT, rest=timedelta(milliseconds=250), most_waiting=4)

    async def answer(self, body: bytes) -> Json:
        """The WhatIf with its status. Raises BadRequest and TooBusy."""
        edit = read_what_if(body)
        observed = self._plans.current()
        lines = await self._forked.run(lambda: self._predict(edit, datetime.now(UTC)))
        if not lines:
            raise TooBusy
        status: dict[str, Any] = msgspec.json.decode(lines[-1])
        stamp = {"asOf": write_moment(datetime.now(UTC)), "servedBy": observed.served_by}
        return {"apiVersion": API_VERSION, "kind": WHAT_IF.kind, "metadata": {}, "status": status | stamp}

    def _predict(self, edit: EditedObjects, now: datetime) -> Iterator[bytes]:
        """Runs in the child, whose state nothing else uses."""
        known, state = self._plans.current().snapshot, self._plans.state
        before = state.world_at(now)
        edit.show(state)
        after = state.world_at(now)
        for found in predict_in_steps(before, after, now, known):
            yield _encode(effects_as_data(effects_of(found)))
