"""Which group a workload belongs to, whether the group takes its namespace, and what stops the group."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shared.api.names import GROUP_LABEL, MANAGED_LABEL, TRUE
from shared.quota.model.tree import DEFAULT, Group, StopPolicy, Tree

_STRENGTH: Final = {policy: strength for strength, policy in enumerate(StopPolicy)}


def resolve_group(labels: Mapping[str, str], namespace_labels: Mapping[str, str], *, default_group: bool) -> str | None:
    """The name of the workload's group: its own label, its namespace's, else `default`; None: it is not managed.

    Work that names no group belongs to `default` only if that is switched on and its namespace is managed.
    """
    named = labels.get(GROUP_LABEL) or namespace_labels.get(GROUP_LABEL)
    if named:
        return named
    return DEFAULT if default_group and namespace_labels.get(MANAGED_LABEL) == TRUE else None


def admits(group: Group, namespace_labels: Mapping[str, str]) -> bool:
    """Whether work of a namespace with these labels may use the group."""
    return group.namespace_selector is None or group.namespace_selector.matches(namespace_labels)


@dataclass(frozen=True, slots=True)
class Stop:
    """What a group has stopped doing, and which group on its path says so; empty for None."""

    policy: StopPolicy = StopPolicy.NONE
    group: str = ""


def stop_of(tree: Tree, name: str) -> Stop:
    """The strongest stopPolicy on the path from `name` to root; of equals the nearest."""
    stop = Stop()
    for each in tree.path(name):
        policy = tree[each].stop_policy
        if _STRENGTH[policy] > _STRENGTH[stop.policy]:
            stop = Stop(policy, each)
    return stop
