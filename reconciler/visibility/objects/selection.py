"""Which objects a request selects."""

from dataclasses import dataclass

from reconciler.visibility.objects.kinds import EXPLANATION, VisibleKind
from shared.api.group_selector import ALL_GROUPS, GroupSelector


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected objects: of one namespace or all (""), with one name or all (""), in the selected groups."""

    kind: VisibleKind
    namespace: str = ""
    name: str = ""
    groups: GroupSelector = ALL_GROUPS
    in_whole_cluster: bool = False
    """Whether the path has no namespace: the API server has authorised reading all namespaces."""

    def takes_group(self, group: str) -> bool:
        """Return whether the label selector selects workloads of the group."""
        return self.groups.takes(group)

    @property
    def is_one_explanation(self) -> bool:
        """Whether a single workload is explained with its remedies: that can take seconds."""
        return bool(self.kind is EXPLANATION and self.namespace and self.name)
