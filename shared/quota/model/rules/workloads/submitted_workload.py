"""What the rules about Jobs and pods read: the workload as its owner wrote it, and the context it is judged in."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from shared.api.core.placement import ANYWHERE, Placement
from shared.api.core.pod import PodSpec
from shared.api.core.pod_request import unrequested
from shared.api.names import GROUP_LABEL
from shared.quota.model.flavor import Flavor
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.node import NOT_COMPARED, LargestNodes
from shared.quota.model.rules.findings import Violation
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Amounts, Tree
from shared.quota.model.workload import PodSet
from shared.resources import Amount, FlavorResource

GROUP_FIELD: Final = f"metadata.labels[{GROUP_LABEL}]"


DEFAULT_TERMINATION: Final = 30
"""Seconds; Kubernetes' own default."""


@dataclass(frozen=True, slots=True)
class PodTerms:
    """What pods say beside their request and placement.

    `termination`: how many seconds they may take to end. `unrequested`: (field, resource) of the containers that do not
    request cpu or memory. `uncountable`: why devices that they request cannot be counted.
    `preempts`: whether kube-scheduler preempts other pods for them.
    """

    priority_class: str = ""
    priority: int | None = None
    termination: int = DEFAULT_TERMINATION
    unrequested: tuple[tuple[str, str], ...] = ()
    uncountable: tuple[str, ...] = ()
    preempts: bool = False

    @staticmethod
    def of(spec: PodSpec, around: NamespaceContext) -> "PodTerms":
        """Read them. Raises QuantityError as `effective_request` does."""
        seconds = spec.termination_grace_period_seconds
        return PodTerms(
            spec.priority_class_name,
            spec.priority,
            DEFAULT_TERMINATION if seconds is None else seconds,
            unrequested(spec, around.limits),
            () if around.devices is None else tuple(around.devices.uncountable(spec.resource_claims)),
            spec.priority_class_name in around.priorities.preempting,
        )


@dataclass(frozen=True, slots=True)
class SubmittedWorkload:
    """A workload as its owner wrote it. `object` is Kind/name; `group` is its group. `pods` share `request` equally.

    `namespace_labels` None: not known, as for a file without its Namespace; then the group's selector is not judged.
    `terms` are of the different pods it is made of. `managed_by` and `manual_selector` are a Job's.
    """

    object: str
    group: str
    namespace: str = "default"
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    namespace_labels: Mapping[str, str] | None = None
    request: Amounts = field(default_factory=dict)
    placement: Placement = ANYWHERE
    pods: int = 1
    pod_sets: tuple[PodSet, ...] = ()
    """Of pods that differ; `request` is of all of them."""
    terms: tuple[PodTerms, ...] = ()
    managed_by: str = ""
    manual_selector: bool = False
    suspend: str = ""
    """The field that holds an object of a governed kind; empty: a Job or pods."""

    def violation(self, rule: str, where: str, message: str) -> Violation:
        """Return the violation of a rule by this workload; `where` is a field path."""
        return Violation(rule, self.object, where, message)

    def pod_field(self, name: str) -> str:
        """Return the path of a field of its pods' spec, in a Job or in a pod."""
        return f"spec.template.spec.{name}" if self.object.startswith("Job/") else f"spec.{name}"

    @property
    def parts(self) -> tuple["SubmittedWorkload", ...]:
        """What takes flavors of its own: each of its pod sets, or the whole."""
        if not self.pod_sets:
            return (self,)
        return tuple(
            replace(self, request=each.request, placement=each.placement, pods=each.pods, pod_sets=())
            for each in self.pod_sets
        )

    @property
    def group_field(self) -> str:
        """The field that names its group."""
        return GROUP_FIELD if self.labels.get(GROUP_LABEL) else "metadata.namespace"


class NeverFits(StrEnum):
    """How a workload that can never start is treated."""

    WARN = "Warn"
    DENY = "Deny"


@dataclass(frozen=True, slots=True)
class WorkloadContext:
    """The context that a workload is judged in. `capacity` None: not known, so nothing is compared with it.

    In `tree`, each group has the counts that it passes on. `nodes`: the largest nodes of the flavors for which they are
    known.
    """

    tree: Tree
    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    capacity: Mapping[FlavorResource, Amount] | None = None
    settings: QuotaSettings = field(default_factory=QuotaSettings)
    never_fits: NeverFits = NeverFits.WARN
    nodes: LargestNodes = field(default_factory=lambda: NOT_COMPARED)
    user: str = ""
    """Who sends the request; empty: not known."""
    lacks_use: str = ""
    """The user who needs the verb `use` on the group and does not have it; empty: none."""


WorkloadCheck = Callable[[SubmittedWorkload, WorkloadContext], Iterable[Violation]]


@dataclass(frozen=True, slots=True)
class WorkloadRule:
    """A rule about a workload: its codes and its function."""

    codes: tuple[str, ...]
    check: WorkloadCheck
