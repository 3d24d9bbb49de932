"""Placement of pods on their flavors' nodes: what is added to a template, what is removed again, what conflicts.

Only what was added is recorded (the `injected` annotation), so that exactly that is taken out again and whatever the
owner wrote stays as it was.

See docs/specification.md §5.3.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from shared.api.annotations import InjectedAnnotation
from shared.api.core.placement import Placement, read_placement, write_toleration
from shared.api.core.pod import PodSpec
from shared.api.names import FLAVOR_LABEL
from shared.api.patches import Operation, add, drop_members, remove, set_members
from shared.quota.model.eligibility import codependent_sets
from shared.quota.model.flavor import Flavor
from shared.quota.model.job_reading import without_injected
from shared.quota.model.rules.groups.names import shortened
from shared.quota.model.tree import DEFAULT_FLAVOR, Amounts, Group

NOTHING = InjectedAnnotation()


def injection(placement: Placement, flavors: Iterable[Flavor]) -> InjectedAnnotation:
    """The flavors' labels and tolerations that the placement lacks. `conflicts` reports labels that differ."""
    selector: dict[str, str] = {}
    tolerations: list[dict[str, Any]] = []
    for flavor in flavors:
        for key, value in flavor.node_labels.items():
            if key not in placement.node_selector:
                selector.setdefault(key, value)
        for toleration in flavor.tolerations:
            written = write_toleration(toleration)
            if toleration not in placement.tolerations and written not in tolerations:
                tolerations.append(written)
    return InjectedAnnotation(selector, tolerations)


def conflicts(placement: Placement, flavors: Iterable[Flavor]) -> list[str]:
    """A sentence for each label that the owner, or another of the flavors, has set to another value."""
    found: list[str] = []
    seen: dict[str, tuple[str, str]] = {
        key: (value, "the pod template") for key, value in placement.node_selector.items()
    }
    for flavor in flavors:
        for key, value in flavor.node_labels.items():
            other, whose = seen.setdefault(key, (value, f"flavor {flavor.name}"))
            if other != value:
                wanted = f"{whose} asks for {key}={shortened(other)}"
                found.append(f"flavor {flavor.name} needs nodes with {key}={value}, {wanted}")
    return found


def only_flavors(group: Group, request: Amounts, labels: Mapping[str, str]) -> tuple[str, ...]:
    """The flavors that the workload gets in any case: the one it names, and those without alternative in the group."""
    wanted = labels.get(FLAVOR_LABEL)
    found: list[str] = []
    for choice in codependent_sets(group.quotas):
        if not choice.resources & request.keys():
            continue
        if wanted in choice.flavors:
            found.append(str(wanted))
        elif len(choice.flavors) == 1:
            found.append(choice.flavors[0])
    return tuple(dict.fromkeys(found))


def find_flavors(names: Iterable[str], flavors: Mapping[str, Flavor]) -> tuple[list[Flavor], list[str]]:
    """The flavors of these names in order, and the names for which there is none; `default` is always there."""
    found, absent = [], []
    for name in dict.fromkeys(names):
        flavor = flavors.get(name) or (Flavor(name) if name == DEFAULT_FLAVOR else None)
        if flavor is None:
            absent.append(name)
        else:
            found.append(flavor)
    return found, absent


def own_placement(spec: PodSpec, injected: InjectedAnnotation | None) -> Placement:
    """Where the owner wants the pods."""
    return without_injected(read_placement(spec), injected)


def placement_operations(
    spec: PodSpec, old: InjectedAnnotation | None, new: InjectedAnnotation, path: tuple[str, ...]
) -> list[Operation]:
    """The operations that take `old` out of the pod spec at `path` and put `new` in; none if that is so already."""
    return [*_selector(spec, old or NOTHING, new, path), *_tolerations(spec, old or NOTHING, new, path)]


def _selector(
    spec: PodSpec, old: InjectedAnnotation, new: InjectedAnnotation, path: tuple[str, ...]
) -> list[Operation]:
    present = spec.node_selector
    leaving = [
        key for key, value in old.node_selector.items() if present.get(key) == value and key not in new.node_selector
    ]
    at = (*path, "nodeSelector")
    if leaving and not new.node_selector and len(leaving) == len(present):
        return [remove(at)]
    return [*drop_members(at, present, leaving), *set_members(at, present or None, new.node_selector)]


def _tolerations(
    spec: PodSpec, old: InjectedAnnotation, new: InjectedAnnotation, path: tuple[str, ...]
) -> list[Operation]:
    present: list[dict[str, Any]] = [msgspec.to_builtins(each) for each in spec.tolerations]
    ours = [_normal(each) for each in old.tolerations]
    kept = [each for each in present if _normal(each) not in ours]
    held = [_normal(each) for each in kept]
    wanted = [*kept, *(each for each in new.tolerations if _normal(each) not in held)]
    if [_normal(each) for each in wanted] == [_normal(each) for each in present]:
        return []
    at = (*path, "tolerations")
    return [add(at, wanted)] if wanted else [remove(at)]


def _normal(toleration: Mapping[str, Any]) -> dict[str, Any]:
    """An absent operator is Equal."""
    return {"operator": "Equal", **toleration}
