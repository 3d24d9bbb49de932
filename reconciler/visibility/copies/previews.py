"""Previews what would become of workloads that are submitted now, decided in a copy of the process.

The copy is shown the objects as its watches would show them, and plans once more, as the next cycle would. See
docs/specification.md §14.6.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from reconciler.visibility.objects.naming import redacted
from reconciler.visibility.objects.observed import ObservedPlan
from shared.api.json.reading import Unreadable, write_moment
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.observed.kind_projection import project_kind
from shared.cluster.state.observed.projections import project_job, project_pod
from shared.json_data import Json
from shared.kinds.kind import Kinds
from shared.kube.watch.cache import Changed
from shared.quota.model.workload import namespace_of
from shared.quota.outlook.preview import previews_in_steps, submitted
from shared.resources import QuantityError
from shared.text.what_if import NOT_MANAGED, preview_lines


def preview_starts(
    state: ClusterState,
    observed: ObservedPlan,
    created: Iterable[Json],
    kinds: Kinds,
    now: datetime,
) -> Iterator[Json]:
    """Yield the status of the StartPreview, each a better one than the one before. `state` is changed by it."""
    before = state.world_at(now)
    problems = [problem for each in created for problem in _show(state, each, kinds)]
    after = state.world_at(now)
    ids = submitted(before, after)
    outlook = observed.outlook.in_world(after, now)
    stamp = {"asOf": write_moment(now), "servedBy": observed.served_by}
    for found in previews_in_steps(outlook, ids):
        told = [redacted(each, namespace_of(each["workload"])) for each in found]
        lines = [*problems, *preview_lines(told)] or [f"this {NOT_MANAGED}"]
        yield {"workloads": told, "lines": lines} | stamp


def _show(state: ClusterState, created: Json, kinds: Kinds) -> Iterator[str]:
    """Pass an object to `state` as its watch would; yield why it cannot be read."""
    raw, kind = msgspec.json.encode(created), kinds.find(str(created.get("apiVersion", "")), created["kind"])
    try:
        if created["kind"] == "Job" and kind is None:
            state.observe_jobs([Changed(None, project_job(raw))])
        elif created["kind"] == "Pod":
            state.observe_pods([Changed(None, project_pod(raw))])
        elif kind is not None:
            state.observe_kind_objects([Changed(None, project_kind(kind)(raw))])
    except (Unreadable, QuantityError, ValueError) as error:
        yield f"{created['kind']} {created['metadata']['name']!r} cannot be read: {error}"
