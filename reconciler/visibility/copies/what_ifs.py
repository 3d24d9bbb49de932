"""Predicts what an edit of quota objects would change: decided in a copy of the process, on all that is known there.

The copy is shown the edit as a watch would, and decides the world with the edit and without it until nothing changes.
So membership, the nodes of flavors and use outside quota are judged as they would be after the edit. See
docs/specification.md §14.3.
"""

from collections.abc import Iterator
from datetime import datetime

from reconciler.visibility.copies.edits import EditedObjects
from reconciler.visibility.objects.observed import ObservedPlan
from shared.api.json.reading import write_moment
from shared.cluster.state.cluster_state import ClusterState
from shared.json_data import Json
from shared.kube.watch.cache import Changed
from shared.quota.outlook.simulate.effects import effects_as_data, effects_of
from shared.quota.outlook.simulate.what_if import predict_in_steps


def predict_edit(state: ClusterState, observed: ObservedPlan, edit: EditedObjects, now: datetime) -> Iterator[Json]:
    """Yield the status of the WhatIf, each a better one than the one before. `state` is changed by the edit."""
    before = state.world_at(now)
    show_edit(edit, state)
    after = state.world_at(now)
    stamp = {"asOf": write_moment(now), "servedBy": observed.served_by}
    for found in predict_in_steps(before, after, now, observed.snapshot):
        yield effects_as_data(effects_of(found)) | stamp


def show_edit(edit: EditedObjects, state: ClusterState) -> None:
    """Pass the edit to `state` as its watches would."""
    groups, flavors = state.tree.groups, state.tree.flavors
    state.observe_groups([Changed(groups.get(each.group.name), each) for each in edit.groups])
    state.observe_groups([Changed(groups[name], None) for name in edit.without_groups if name in groups])
    gone = [flavors[name] for name in edit.without_flavors if name in flavors]
    if edit.flavors or gone:
        changed = [Changed(state.tree.flavors.get(each.name), each) for each in edit.flavors]
        state.observe_flavors([*changed, *(Changed(each, None) for each in gone)])
