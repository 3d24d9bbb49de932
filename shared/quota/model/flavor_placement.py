"""Placement of pods on the nodes of their flavors: the flavors that are certain, and the labels that conflict.

What is added for them: `shared.quota.model.flavor`; how that becomes operations: `shared.api.injection`.

See docs/specification.md §5.2 and §5.3.
"""

from collections.abc import Iterable, Mapping

from shared.api.annotations import InjectedPlacement
from shared.api.core.placement import Placement, read_placement
from shared.api.core.pod import PodSpec
from shared.api.injection import without_injected
from shared.api.names import FLAVOR_LABEL
from shared.quota.model.eligibility import codependent_sets, flavor_of_name
from shared.quota.model.flavor import Flavor
from shared.quota.model.rules.groups.names import shortened
from shared.quota.model.tree import Amounts, Group


def conflicts(placement: Placement, flavors: Iterable[Flavor]) -> list[str]:
    """Return a sentence for each label that the owner, or another of the flavors, has set to another value."""
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
    """Return the flavors that the workload gets in any case: the one it names, and those without an alternative."""
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
    """Return the flavors of these names in order, and the names for which there is none; `default` is always there."""
    found, absent = [], []
    for name in dict.fromkeys(names):
        flavor = flavor_of_name(name, flavors)
        if flavor is None:
            absent.append(name)
        else:
            found.append(flavor)
    return found, absent


def own_placement(spec: PodSpec, injected: InjectedPlacement | None) -> Placement:
    """Return where the owner wants the pods."""
    return without_injected(read_placement(spec), injected)
