"""Which flavors a workload may take: one per set of resources that its group keeps together.

A workload may take a flavor if its nodeSelector and required affinity agree with the flavor's labels (other keys are
left to the scheduler), and if the workload, or what the flavor adds to it, tolerates the flavor's taints.

See docs/specification.md §6.6.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from shared.api.core.placement import ANYWHERE, Placement, Requirement, Taint, Toleration
from shared.quota.model.flavor import Flavor
from shared.quota.model.node import NodeShortage
from shared.quota.model.tree import UNLABELLED_FLAVORS, Entry
from shared.quota.model.workload import PodSet, Workload
from shared.resources import Amount

BINDING_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
"""PreferNoSchedule excludes no pod."""

ABSENT: Final = "there is no such flavor"

Shape = tuple[object, ...]
"""What makes two workloads equal to flavors and quota: request, pods, placement, only and blocked flavors. Hashable."""


@dataclass(frozen=True, slots=True)
class FlavorSet:
    """The requested resources of one codependent set, and the flavors that may serve them, in order of preference.

    `flavors` are those that the workload is eligible for and whose request could ever fit (docs/specification.md §3.4).
    `pod_set` is whose request it is.
    """

    pod_set: PodSet
    resources: tuple[str, ...]
    flavors: tuple[str, ...]
    refused: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """flavor -> why not; flavors of this set that are not in `flavors`."""
    too_small: Mapping[str, NodeShortage] = field(default_factory=lambda: MappingProxyType({}))
    """Of `refused`, the flavors that only the size of their nodes keeps it from."""

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """What is requested of each of `resources`."""
        return tuple([self.pod_set.request[each] for each in self.resources])


@dataclass(frozen=True, slots=True)
class Options:
    """All flavors that a workload may take in its group. No sets: it requests nothing that is counted."""

    sets: tuple[FlavorSet, ...] = ()
    """Of each pod set in turn, its codependent sets."""
    uncovered: tuple[str, ...] = ()
    """Requested resources that no entry covers, where the settings deny them."""
    together: tuple[tuple[str, ...], ...] | None = None
    """Of several pod sets: the choices of one flavor for each of `sets` that could fit together, in order of
    preference. None: there is one pod set, and its codependent sets share no capacity."""

    @property
    def could_fit(self) -> bool:
        """Whether every set has a flavor and nothing requested is uncovered; else it never starts and never counts."""
        return not self.uncovered and self.together != () and all(each.flavors for each in self.sets)


@dataclass(frozen=True, slots=True)
class Codependent:
    """Resources that a group keeps together, and the flavors it has for them, in order of preference."""

    resources: frozenset[str]
    flavors: tuple[str, ...]


def codependent_sets(quotas: Iterable[Entry]) -> tuple[Codependent, ...]:
    """Return the sets of one group.

    Where entries overlap without being equal, which no rule allows, the first one counts.
    """
    found: dict[frozenset[str], list[str]] = {}
    for entry in quotas:
        found.setdefault(entry.covered, []).append(entry.flavor)
    taken: set[str] = set()
    sets = []
    for covered, flavors in found.items():
        sets.append(Codependent(covered - taken, tuple(flavors)))
        taken |= covered
    return tuple(sets)


def shape_of(workload: Workload) -> Shape:
    """Return the shape of `workload`; workloads of one shape have the same options wherever they wait."""
    if workload.pod_sets:
        sets = tuple(map(_shape_of_set, workload.pod_sets))
        return (sets, workload.only_flavor, workload.blocked_flavors)
    return (
        tuple(sorted(workload.request.items())),
        workload.pods,
        placement_key(workload.placement),
        workload.only_flavor,
        workload.blocked_flavors,
    )


def _shape_of_set(each: PodSet) -> Shape:
    return (each.name, tuple(sorted(each.request.items())), each.pods, placement_key(each.placement))


def placement_key(placement: Placement) -> tuple[object, ...]:
    """Return a hashable value that stands for `placement`."""
    if placement is ANYWHERE:
        return ()
    return (tuple(sorted(placement.node_selector.items())), placement.affinity, placement.tolerations)


def why_not(
    workload: Workload, placement: Placement, name: str, choice: Codependent, flavors: Mapping[str, Flavor]
) -> str | None:
    """Return why pods of `workload` placed so cannot take that flavor out of `choice`, or None when they can."""
    flavor = flavor_of_name(name, flavors)
    if flavor is None:
        return why_not_named(workload, name, choice) or ABSENT
    return why_not_named(workload, name, choice) or why_not_placed(placement, flavor)


def why_not_named(workload: Workload, name: str, choice: Codependent) -> str | None:
    """Return why `workload` excludes a flavor of that name, whatever the flavor is; None when it does not."""
    if workload.only_flavor not in (None, name) and workload.only_flavor in choice.flavors:
        return f"the workload takes flavor {workload.only_flavor} only"
    if name in workload.blocked_flavors:
        return "a label in the pods' nodeSelector conflicts with this flavor's"
    return None


def flavor_of_name(name: str, flavors: Mapping[str, Flavor]) -> Flavor | None:
    """Return the flavor; `default` exists also before its object does, and counts have none."""
    return flavors.get(name) or (Flavor(name) if name in UNLABELLED_FLAVORS else None)


def why_not_placed(placement: Placement, flavor: Flavor) -> str | None:
    """Return why pods placed so cannot run on nodes of `flavor`; None when they can."""
    for key, value in flavor.node_labels.items():
        if placement.node_selector.get(key, value) != value:
            return f"nodeSelector requires {key}={placement.node_selector[key]}, the flavor is {key}={value}"
    if not affinity_agrees(placement, flavor.node_labels):
        return "required node affinity excludes the flavor's labels"
    tolerations = (*placement.tolerations, *flavor.tolerations)
    for taint in flavor.node_taints:
        if taint.effect in BINDING_EFFECTS and not any(tolerates(each, taint) for each in tolerations):
            return f"taint {taint.key}={taint.value}:{taint.effect} is not tolerated"
    return None


def affinity_agrees(placement: Placement, labels: Mapping[str, str]) -> bool:
    """Return whether some term holds as far as it is about the keys of `labels`.

    A term without requirements on labels has some on node fields, such as the node's name in a DaemonSet's pods:
    `read_placement` leaves out those that have neither.
    """
    if placement.affinity is None:
        return True
    return any(_holds(term, labels) for term in placement.affinity)


def _holds(term: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    return all(each.key not in labels or _meets(each, labels[each.key]) for each in term)


def _meets(requirement: Requirement, value: str) -> bool:
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return True
        case "Gt" | "Lt":
            return _compares(requirement, value)
    return False


def _compares(requirement: Requirement, value: str) -> bool:
    try:
        bound, actual = int(requirement.values[0]), int(value)
    except (IndexError, ValueError):
        return False
    return actual > bound if requirement.operator == "Gt" else actual < bound


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Kubernetes' rule: an empty effect means every effect, an empty key with Exists means every key."""
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return toleration.operator in ("", "Equal") and toleration.key == taint.key and toleration.value == taint.value


def agree(flavors: Iterable[Flavor]) -> bool:
    """Return whether one node can be of all these flavors: no label has two values.

    Pods of one workload share their nodes.
    """
    seen: dict[str, str] = {}
    return all(seen.setdefault(key, value) == value for each in flavors for key, value in each.node_labels.items())
