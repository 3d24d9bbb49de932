"""Labels of other systems that name a group, where the settings say that they do. Pure.

A Job that is written for Kueue names a LocalQueue by its label `kueue.x-k8s.io/queue-name`, and has `suspend: true` by
convention. See docs/specification.md §2.5.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from shared.api.names import GROUP_LABEL, HOLD_LABEL, KUEUE_QUEUE_LABEL


@dataclass(frozen=True, slots=True)
class QueueLabels:
    """What the label of a workload in this namespace means; it is read while the workload is created (`is_new`)."""

    groups: Mapping[str, str]
    """NAMESPACE/QUEUE or QUEUE → group; others mean the group of their name."""
    namespace: str
    is_new: bool

    def with_group(self, labels: Mapping[str, str]) -> Mapping[str, str]:
        """Return a new workload's labels, with the group that its queue means unless it names one itself."""
        group = self.group_of(labels) if self.is_new else None
        return labels if group is None or GROUP_LABEL in labels else {**labels, GROUP_LABEL: group}

    def group_of(self, labels: Mapping[str, str]) -> str | None:
        """Return the group that the queue in these labels means; None: they name no queue."""
        queue = labels.get(KUEUE_QUEUE_LABEL)
        if not queue:
            return None
        return self.groups.get(f"{self.namespace}/{queue}") or self.groups.get(queue, queue)


def is_suspended_by_convention(labels: Mapping[str, str]) -> bool:
    """Return whether `suspend: true` beside these labels is no wish to stop: `quotree hold` sets a label, too."""
    return KUEUE_QUEUE_LABEL in labels and HOLD_LABEL not in labels
