"""What a Kubernetes label selector says, and whether labels match it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shared.api.core.placement import Requirement


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """matchLabels and matchExpressions together; empty matches everything."""

    match_labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    match_expressions: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether `labels` meet every requirement."""
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            _meets(requirement, labels) for requirement in self.match_expressions
        )


def _meets(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False
