"""Read an object of a governed kind as a workload.

Its use is never taken from its operator's status. While it runs, and until its operator has seen that it is stopped, it
counts as large as it declares, or as its pods are if that is more; then, and once it has finished, as its pods that
have not ended.

See docs/specification.md §5.9.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Final

from shared.api.annotations import Annotations, read_annotations
from shared.api.core.pod import PodSpec
from shared.api.injection import NOTHING
from shared.kinds.kind_object import KindObject, KindPodSet
from shared.kinds.operations import set_name
from shared.quota.model.flavor_placement import own_placement
from shared.quota.model.membership import resolve_group
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.jobs import (
    FINISHED,
    UNMANAGED,
    ObjectState,
    Reading,
    WorkloadDraft,
    admission_in,
    eviction_in,
    pod_request_of,
    ready_pods,
    state_of,
    times,
)
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Amounts
from shared.quota.model.workload import PodSet
from shared.resources import QuantityError, sum_amounts


@dataclass(frozen=True, slots=True)
class SeenPods:
    """Pods of one set that carry the object's uid: how many have not ended, how many are ready or have succeeded."""

    present: int = 0
    ready: int = 0
    request: Amounts = field(default_factory=lambda: MappingProxyType({}))
    """Of those that have not ended."""


PodsBySet = Mapping[str, SeenPods]
"""By the names of the object's pod sets, as the pods' label `quotree.dev/pod-set` has them."""
NO_PODS: Final[PodsBySet] = MappingProxyType({})
NO_PODS_OF_SET: Final = SeenPods()


def workload_of_kind(
    seen: KindObject,
    around: NamespaceContext,
    settings: QuotaSettings,
    pods: PodsBySet = NO_PODS,
    now: datetime | None = None,
) -> Reading:
    """Read an object of a governed kind, of which these pods are seen."""
    group = resolve_group(seen.metadata.labels, around.namespace_labels, default_group=settings.default_group)
    if group is None or seen.skipped:
        return UNMANAGED
    has_pods = any(each.present > 0 for each in pods.values())
    if (seen.finished or seen.metadata.is_deleting) and not has_pods:
        return FINISHED
    annotations = read_annotations(seen.metadata.annotations, now)
    # Pods that its operator is about to make are not seen yet.
    state = state_of(annotations, suspended=seen.suspended, has_pods=has_pods or not seen.stopped)
    if seen.metadata.is_deleting and state is ObjectState.PENDING:
        return FINISHED  # Its operator makes no pods for it.
    problems = (*seen.problems, *seen.refusals)
    if seen.problems:
        return Reading(state, None, (*problems, *annotations.problems))
    over = seen.finished or (state is ObjectState.EVICTING and seen.stopped)
    counted = _counted(seen, pods)
    try:
        found = [_pod_set(seen, each, counted, around, settings, over=over) for each in seen.pod_sets]
    except QuantityError as error:
        return Reading(state, None, (*problems, str(error)))

    def is_ready() -> bool:
        ready = sum(min(counted.get(each.name, NO_PODS_OF_SET).ready, each.count) for each in seen.pod_sets)
        return ready >= ready_pods((seen.metadata,), sum(each.count for each in seen.pod_sets))

    return _draft(seen, group, annotations, found).reading(
        state,
        admission_in(state, annotations, is_ready),
        eviction_in(state, annotations, lambda: seen.metadata.created),
        around,
        settings,
    )


def _draft(seen: KindObject, group: str, annotations: Annotations, found: Sequence[PodSet]) -> WorkloadDraft:
    """Return the draft of an object with these requests, one for each of its pod sets."""
    injected = annotations.injected or NOTHING
    placed = tuple(
        PodSet(each.name, each.request, each.pods, own_placement(declared.spec, injected.of(each.name)))
        for declared, each in zip(seen.pod_sets, found, strict=True)
        if each.pods
    )
    return WorkloadDraft(
        seen.metadata,
        _leading_spec(seen),
        sum(each.pods for each in found),
        group,
        annotations,
        kind=seen.kind.kind,
        request=sum_amounts(each.request for each in found),
        pod_sets=() if len(seen.pod_sets) == 1 else placed,
        specs=tuple(each.spec for each in seen.pod_sets if each.count),
        waits=bool(seen.refusals) and seen.suspended,
        problems=(*seen.problems, *seen.refusals),
    )


def _counted(seen: KindObject, pods: PodsBySet) -> PodsBySet:
    """Return the pods by the sets that the object has now; pods of no such set count as those of the first."""
    names = [each.name for each in seen.pod_sets]
    strays = [each for name, each in pods.items() if name not in names]
    if not strays or not names:
        return pods
    counted = {name: each for name, each in pods.items() if name in names}
    together = [counted.get(names[0], NO_PODS_OF_SET), *strays]
    counted[names[0]] = SeenPods(
        sum(each.present for each in together),
        sum(each.ready for each in together),
        sum_amounts(each.request for each in together),
    )
    return counted


def _pod_set(  # noqa: PLR0913
    seen: KindObject,
    pod_set: KindPodSet,
    pods: PodsBySet,
    around: NamespaceContext,
    settings: QuotaSettings,
    *,
    over: bool,
) -> PodSet:
    observed = pods.get(pod_set.name, NO_PODS_OF_SET)
    name = set_name(seen, pod_set)
    if over:
        return PodSet(name, observed.request, observed.present)
    declared = times(pod_request_of(pod_set.spec, around, settings), pod_set.count)
    more = {key: max(declared.get(key, 0), observed.request.get(key, 0)) for key in {*declared, *observed.request}}
    return PodSet(name, more, max(pod_set.count, observed.present))


def _leading_spec(seen: KindObject) -> PodSpec:
    """Return the pod spec whose priority is the workload's: of the first set that names one."""
    specs = [each.spec for each in seen.pod_sets] or [PodSpec()]
    return next((spec for spec in specs if spec.priority_class_name or spec.priority is not None), specs[0])
