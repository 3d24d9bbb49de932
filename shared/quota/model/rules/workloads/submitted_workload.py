"""What the rules about Jobs and pods look at: the work as its owner wrote it, and the world it is judged by."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from shared.api.core.placement import ANYWHERE, Placement
from shared.api.names import GROUP_LABEL
from shared.quota.model.flavor import Flavor
from shared.quota.model.rules.findings import Violation
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Amounts, Tree
from shared.resources import Amount, FlavorResource

GROUP_FIELD: Final = f"metadata.labels[{GROUP_LABEL}]"


@dataclass(frozen=True, slots=True)
class SubmittedWorkload:
    """Work as its owner wrote it. `object` is Kind/name; `group` is what it resolves to; `request` is all its pods'.

    `namespace_labels` None: not known, as for a file without its Namespace; then the group's selector is not judged.
    `managed_by` and `manual_selector` are a Job's.
    """

    object: str
    group: str
    namespace: str = "default"
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace_labels: Mapping[str, str] | None = None
    request: Amounts = field(default_factory=dict)
    placement: Placement = ANYWHERE
    managed_by: str = ""
    manual_selector: bool = False

    def violation(self, rule: str, where: str, message: str) -> Violation:
        """One broken rule of this work."""
        return Violation(rule, self.object, where, message)

    @property
    def group_field(self) -> str:
        """Where its group was named."""
        return GROUP_FIELD if self.labels.get(GROUP_LABEL) else "metadata.namespace"


class NeverFits(StrEnum):
    """What becomes of work that can never start as things are."""

    WARN = "Warn"
    DENY = "Deny"


@dataclass(frozen=True, slots=True)
class WorkloadContext:
    """The world that work is judged by. `capacity` None: not known, so nothing is compared with it."""

    tree: Tree
    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    capacity: Mapping[FlavorResource, Amount] | None = None
    settings: QuotaSettings = field(default_factory=QuotaSettings)
    never_fits: NeverFits = NeverFits.WARN


Check = Callable[[SubmittedWorkload, WorkloadContext], Iterable[Violation]]


@dataclass(frozen=True, slots=True)
class WorkloadRule:
    """A rule about work: its codes and its function."""

    codes: tuple[str, ...]
    check: Check
