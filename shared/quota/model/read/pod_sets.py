"""Which sets the pods of a group form: pods are of one set if they are alike in request and placement.

The label `quotree.dev/pod-set` names the set. Pods without it get a name from what they are like, and the label at
their start, because their flavor's labels then change their placement. Pods that are all alike are one set, `main`.

See docs/specification.md §5.6.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from shared.api.annotations import BadAnnotation, read_injected
from shared.api.core.placement import Placement
from shared.api.core.pod import Pod
from shared.api.names import MAIN_POD_SET, MAX_POD_SETS, POD_SET_LABEL
from shared.quota.model.eligibility import placement_key
from shared.quota.model.flavor_placement import own_placement
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.jobs import pod_request_of
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Amounts
from shared.quota.model.workload import Flavors, PodSet
from shared.resources import sum_amounts

Likeness = tuple[object, ...]
"""The request and placement that pods of one set share; hashable."""


@dataclass(frozen=True, slots=True)
class Member:
    """What sets are made by of one pod of a group; `label` is empty where it names no set."""

    label: str
    request: Amounts
    placement: Placement

    @property
    def likeness(self) -> Likeness:
        """A key that is equal for pods of equal request and placement."""
        return (tuple(sorted(self.request.items())), placement_key(self.placement))

    @property
    def pod_set(self) -> str:
        """The name of its set, among pods that differ."""
        if self.label:
            return self.label
        return f"set-{blake2b(repr(self.likeness).encode(), digest_size=4).hexdigest()}"


class PodSets(NamedTuple):
    """The sets in the order of their first pods, and what keeps them from starting together."""

    found: tuple[PodSet, ...]
    problems: tuple[str, ...] = ()


def member_of(pod: Pod, around: NamespaceContext, settings: QuotaSettings) -> Member:
    """Read a pod of a group. Raises QuantityError as `effective_request` does."""
    try:
        injected = read_injected(pod.metadata.annotations)
    except BadAnnotation:
        injected = None
    placement = own_placement(pod.spec, injected)
    return Member(pod.metadata.labels.get(POD_SET_LABEL, ""), pod_request_of(pod.spec, around, settings), placement)


def read_pod_sets(members: Iterable[Member], assigned: Flavors) -> PodSets:
    """Sort a group's pods into sets. `assigned`: what they were started in; then its sets are those of the start."""
    members = list(members)
    if assigned:
        return PodSets(_sets_of(_by_start(members, assigned)))
    alike = {(each.likeness, each.label) for each in members}
    if len(alike) < 2 and not any(each.label for each in members):
        return PodSets(_sets_of({MAIN_POD_SET: members}))
    named: dict[str, list[Member]] = {}
    for each in members:
        named.setdefault(each.pod_set, []).append(each)
    return PodSets(_sets_of(named), tuple(_problems(named)))


def _by_start(members: Iterable[Member], assigned: Flavors) -> Mapping[str, list[Member]]:
    """Sort pods into the sets that were started. A pod of none of them is counted in the first."""
    first = next(iter(assigned))
    found: dict[str, list[Member]] = {}
    for each in members:
        name = first if len(assigned) == 1 else each.pod_set
        found.setdefault(name if name in assigned else first, []).append(each)
    return found


def _sets_of(named: Mapping[str, list[Member]]) -> tuple[PodSet, ...]:
    return tuple(
        PodSet(name, sum_amounts(each.request for each in pods), len(pods), pods[0].placement)
        for name, pods in named.items()
    )


def _problems(named: Mapping[str, list[Member]]) -> Iterable[str]:
    for name, pods in named.items():
        if len({each.likeness for each in pods}) > 1:
            yield (
                f"the pods of the group that label {POD_SET_LABEL} calls {name!r} differ in what they request or where "
                "they may run; give each kind of pods a name of its own, or leave the label out"
            )
    if len(named) > MAX_POD_SETS:
        yield f"the pods of the group are of {len(named)} different kinds; at most {MAX_POD_SETS} start together"
