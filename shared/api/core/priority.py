"""How important a pod is: its own number, else its PriorityClass, else the cluster's default class, else 0."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from shared.api.core.metadata import Metadata
from shared.api.core.pod import PodSpec
from shared.api.json.reading import Int32, View, reader

BUILT_IN: Final[Mapping[str, int]] = MappingProxyType(
    {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
)


class PriorityClass(View, frozen=True):
    """A PriorityClass."""

    metadata: Metadata = Metadata()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str = ""


@dataclass(frozen=True, slots=True)
class Priorities:
    """All PriorityClasses: value by name, and the value of workloads that name none."""

    by_name: Mapping[str, int] = field(default_factory=lambda: BUILT_IN)
    default: int = 0
    preempting: frozenset[str] = frozenset()
    """kube-scheduler preempts pods that name no class for pods of these."""

    @staticmethod
    def of(classes: Iterable[PriorityClass]) -> "Priorities":
        """From the objects. Of several global defaults the lowest counts, as in Kubernetes."""
        found, listed = {**BUILT_IN}, list(classes)
        defaults = []
        for each in listed:
            found[each.metadata.name] = each.value
            if each.global_default:
                defaults.append(each.value)
        default = min(defaults, default=0)
        preempting = (each for each in listed if each.value > default and each.preemption_policy != "Never")
        return Priorities(MappingProxyType(found), default, frozenset(each.metadata.name for each in preempting))

    def knows(self, name: str) -> bool:
        """Return whether there is a class of that name."""
        return name in self.by_name

    def of_pod(self, spec: PodSpec) -> int:
        """Return the priority pods of this spec get; an unknown class counts as none."""
        if spec.priority is not None:
            return spec.priority
        return self.by_name.get(spec.priority_class_name, self.default)


read_priority_class = reader(PriorityClass)
