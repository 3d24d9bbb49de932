"""Which group a workload belongs to, whether the group admits its namespace, and what stops the group.

See docs/specification.md §2.5, §4.10 and §15.1.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from shared.api.core.selectors import LabelSelector
from shared.api.names import GROUP_LABEL, MANAGED_LABEL, TRUE
from shared.quota.model.lifecycle import stop_in_force
from shared.quota.model.tree import DEFAULT, ROOT, SYSTEM, Group, StopPolicy, Tree


def resolve_group(labels: Mapping[str, str], namespace_labels: Mapping[str, str], *, default_group: bool) -> str | None:
    """Return the name of the workload's group: its own label, its namespace's, else `default`; None: it is not managed.

    A workload that names no group belongs to `default` only if that is switched on and its namespace is managed.
    """
    named = labels.get(GROUP_LABEL) or namespace_labels.get(GROUP_LABEL)
    if named:
        return named
    return DEFAULT if default_group and namespace_labels.get(MANAGED_LABEL) == TRUE else None


SYSTEM_NAMESPACE: Final = "kube-system"
"""Its unmanaged pods belong to the group `system`, whatever their labels."""


def is_of_system(group_label: str, namespace: str, namespace_labels: Mapping[str, str], *, default_group: bool) -> bool:
    """Return whether an unmanaged pod with this group label counts as use of `system`."""
    group = resolve_group({}, namespace_labels, default_group=default_group)
    return namespace == SYSTEM_NAMESPACE or SYSTEM in (group_label, group)


GroupByName = Callable[[str], Group | None]
"""The group of that name, as far as it is known."""


def selector_of(groups: GroupByName, name: str) -> tuple[LabelSelector, str] | None:
    """Return the namespaceSelector in force in a group, and whose it is: its own, else the nearest ancestor's."""
    for group in path_of(groups, name):
        if group.namespace_selector is not None:
            return group.namespace_selector, group.name
    return None


def admits(groups: GroupByName, name: str, namespace_labels: Mapping[str, str], *, open_groups: bool) -> bool:
    """Return whether workloads of a namespace with these labels may use the group.

    Without a selector on its path: all with `open_groups`, else those of namespaces whose own label names the group or
    one above it.
    """
    found = selector_of(groups, name)
    if found is not None:
        return found[0].matches(namespace_labels)
    named = namespace_labels.get(GROUP_LABEL)
    return open_groups or (bool(named) and not is_bound_elsewhere(groups, name, namespace_labels))


def has_own_label(namespace_labels: Mapping[str, str]) -> bool:
    """Return whether a namespace's labels make its workloads managed, whatever they say themselves."""
    return bool(namespace_labels.get(GROUP_LABEL)) or namespace_labels.get(MANAGED_LABEL) == TRUE


def is_bound_elsewhere(groups: GroupByName, name: str, namespace_labels: Mapping[str, str]) -> bool:
    """Return whether the namespace's own group label keeps its workloads from the group.

    They may use the group that the label names, or a leaf below it. Every group is below root, even before root is
    known.
    """
    bound = namespace_labels.get(GROUP_LABEL)
    return bool(bound) and bound not in (name, ROOT) and all(group.name != bound for group in path_of(groups, name))


def path_of(groups: GroupByName, name: str) -> list[Group]:
    """Return the known groups from `name` to root; it ends where the path begins to repeat."""
    found: dict[str, Group] = {}
    group = groups(name)
    while group is not None and group.name not in found:
        found[group.name] = group
        group = None if group.name == ROOT else groups(group.parent or ROOT)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Stop:
    """The stop policy in force in a group, and which group on its path sets it; empty for None."""

    policy: StopPolicy = StopPolicy.NONE
    group: str = ""


def stop_of(tree: Tree, name: str) -> Stop:
    """Return the strictest stopPolicy on the path from `name` to root; among equals the nearest."""
    policy, group = stop_in_force([tree[each] for each in tree.path(name)])
    return Stop() if policy is StopPolicy.NONE else Stop(policy, group)
