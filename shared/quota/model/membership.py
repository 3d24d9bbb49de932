"""Which group a workload belongs to, whether the group admits its namespace, and what stops the group.

See docs/specification.md §2.5 and §4.10.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from shared.api.names import GROUP_LABEL, MANAGED_LABEL, TRUE
from shared.quota.model.lifecycle import stop_in_force
from shared.quota.model.tree import DEFAULT, Group, StopPolicy, Tree


def resolve_group(labels: Mapping[str, str], namespace_labels: Mapping[str, str], *, default_group: bool) -> str | None:
    """The name of the workload's group: its own label, its namespace's, else `default`; None: it is not managed.

    A workload that names no group belongs to `default` only if that is switched on and its namespace is managed.
    """
    named = labels.get(GROUP_LABEL) or namespace_labels.get(GROUP_LABEL)
    if named:
        return named
    return DEFAULT if default_group and namespace_labels.get(MANAGED_LABEL) == TRUE else None


def admits(group: Group, namespace_labels: Mapping[str, str]) -> bool:
    """Whether workloads of a namespace with these labels may use the group."""
    return group.namespace_selector is None or group.namespace_selector.matches(namespace_labels)


@dataclass(frozen=True, slots=True)
class Stop:
    """The stop policy in force in a group, and which group on its path sets it; empty for None."""

    policy: StopPolicy = StopPolicy.NONE
    group: str = ""


def stop_of(tree: Tree, name: str) -> Stop:
    """The strictest stopPolicy on the path from `name` to root; among equals the nearest."""
    policy, group = stop_in_force([tree[each] for each in tree.path(name)])
    return Stop() if policy is StopPolicy.NONE else Stop(policy, group)
