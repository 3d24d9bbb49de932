"""Which objects are asked for."""

from dataclasses import dataclass

from reconciler.visibility.objects.kinds import EXPLANATION, VisibleKind
from shared.api.group_selector import ALL_GROUPS, GroupSelector


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects are wanted: of one namespace or all (""), one name or all (""), those of the groups wanted."""

    kind: VisibleKind
    namespace: str = ""
    name: str = ""
    groups: GroupSelector = ALL_GROUPS
    in_whole_cluster: bool = False
    """Whether the path names no namespace: the API server has asked for the right to read all namespaces."""

    def takes_group(self, group: str) -> bool:
        """Whether the label selector takes workloads of the group."""
        return self.groups.takes(group)

    @property
    def is_one_explanation(self) -> bool:
        """Whether one workload is to be explained, with its remedies: that might take seconds."""
        return bool(self.kind is EXPLANATION and self.namespace and self.name)
