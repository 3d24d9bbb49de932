"""What the platform team has set for the whole cluster, and what a group may override. Durations are timedeltas.

See docs/specification.md §11.1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from shared.api.names import WORKLOAD_COUNT
from shared.quota.model.devices.resources import DeviceResources
from shared.resources import Amount, FlavorResource


class CapacitySource(StrEnum):
    """Where root's capacity comes from: ready nodes, or the first level's min."""

    NODES = "Nodes"
    GROUPS = "Groups"


class ReclaimMode(StrEnum):
    """Whether borrowed workloads are recycled only for a preemptor, or whenever a leaf is over its runtime."""

    ON_DEMAND = "OnDemand"
    STRICT = "Strict"


class BlockAdmission(StrEnum):
    """Which workloads an admitted workload that is not ready holds back."""

    CLUSTER = "Cluster"
    GROUP = "Group"
    NONE = "None"


class QueueAge(StrEnum):
    """From when evicted workloads count their age."""

    EVICTION = "Eviction"
    CREATION = "Creation"


class Uncovered(StrEnum):
    """How a requested resource that no quota entry covers is treated."""

    DENY = "Deny"
    IGNORE = "Ignore"


class LongTermination(StrEnum):
    """How a workload is treated whose termination grace period is above `maxTerminationGracePeriod`."""

    WARN = "Warn"
    DENY = "Deny"


class UnlabelledNamespaces(StrEnum):
    """Whether a workload may name a group in a namespace without any label of Quotree's."""

    ALLOW = "Allow"
    DENY = "Deny"


@dataclass(frozen=True, slots=True)
class ReclaimSettings:
    """How borrowed quota comes back (docs/specification.md §7)."""

    mode: ReclaimMode = ReclaimMode.ON_DEMAND
    grace_period: timedelta = timedelta()
    notice: timedelta = timedelta()
    exempt_after_start: timedelta = timedelta()
    claim_timeout: timedelta = timedelta(minutes=5)
    eviction_timeout: timedelta = timedelta(minutes=10)
    """How long a PodDisruptionBudget may refuse the eviction of a pod."""
    max_termination_grace_period: timedelta | None = None
    """The longest termination grace period that pods should have; None: it is not judged."""
    long_termination: LongTermination = LongTermination.WARN


@dataclass(frozen=True, slots=True)
class StartupSettings:
    """All or nothing (docs/specification.md §8). `limit` None: never deactivated."""

    wait_for_pods_ready: bool = False
    block_admission: BlockAdmission = BlockAdmission.NONE
    timeout: timedelta = timedelta(minutes=5)
    recovery_timeout: timedelta | None = None
    backoff_base: timedelta = timedelta(minutes=1)
    backoff_max: timedelta = timedelta(hours=1)
    limit: int | None = None
    gang: bool = False
    """Whether kube-scheduler places the pods of a Job all or none; groups and owners say so."""


@dataclass(frozen=True, slots=True)
class ReclaimMaxima:
    """The most that a group may set of its own reclaim settings; None: no bound."""

    grace_period: timedelta | None = None
    notice: timedelta | None = None
    exempt_after_start: timedelta | None = None
    claim_timeout: timedelta | None = None


@dataclass(frozen=True, slots=True)
class StartupMaxima:
    """The most that a group may set of its own all-or-nothing settings; None: no bound."""

    block_admission: BlockAdmission | None = None
    timeout: timedelta | None = None
    recovery_timeout: timedelta | None = None


@dataclass(frozen=True, slots=True)
class QueueingMaxima:
    """The most that a group may set of its own queue's settings; None: no bound."""

    patience: timedelta | None = None


@dataclass(frozen=True, slots=True)
class RunTimeMaxima:
    """The most that a group may set of its own run-time limit; None: no bound."""

    max_run_time: timedelta | None = None


@dataclass(frozen=True, slots=True)
class GroupMaxima:
    """The most that a group may set of what binds others, so that editing a leaf can be delegated."""

    reclaim: ReclaimMaxima = ReclaimMaxima()
    startup: StartupMaxima = StartupMaxima()
    queueing: QueueingMaxima = QueueingMaxima()
    run_time: RunTimeMaxima = RunTimeMaxima()


@dataclass(frozen=True, slots=True)
class WorkloadPriority:
    """A priority that a workload can name for the order in its leaf, and where."""

    value: int
    groups: tuple[str, ...] | None = None
    """The groups of which, and below which, workloads may name it; None: all."""


@dataclass(frozen=True, slots=True)
class QuotaSettings:
    """The settings that the engine's answers depend on."""

    reclaim: ReclaimSettings = field(default_factory=ReclaimSettings)
    startup: StartupSettings = field(default_factory=StartupSettings)
    capacity_source: CapacitySource = CapacitySource.NODES
    capacity: tuple[tuple[str, str, Amount], ...] = ()
    """(flavor, resource, amount) given by hand instead of either source; used by simulate and tests."""
    uncovered: Uncovered = Uncovered.DENY
    ignored_resources: frozenset[str] = frozenset({"ephemeral-storage"})
    devices: DeviceResources | None = None
    """The resources as which devices of ResourceClaims count; None: they are not counted."""
    node_grace_period: timedelta = timedelta(minutes=5)
    """How long the use of pods on a node that is not ready still counts."""
    loss_grace_period: timedelta = timedelta(minutes=5)
    """How long a shortage of capacity, or pods without a node, evict nothing."""
    fairness_half_life: timedelta = timedelta(hours=1)
    """The half-life of past use; 0: past use is not kept."""
    queueing_patience: timedelta | None = timedelta(hours=1)
    """After how long the head of a BestEffortFIFO queue holds back those behind it; None: never."""
    queue_age: QueueAge = QueueAge.EVICTION
    max_depth: int = 16
    open_groups: bool = True
    """Whether a group without any namespaceSelector on its path admits every namespace."""
    unlabelled_namespaces: UnlabelledNamespaces = UnlabelledNamespaces.ALLOW
    namespace_label_binds: bool = True
    """Whether the group label of a namespace keeps its workloads from groups outside."""
    require_use: bool = False
    """Whether the owner of a workload needs the verb `use` on its group."""
    gang_scheduling: bool = False
    """Whether Jobs that ask for it are handed to kube-scheduler as PodGroups."""
    require_divide: bool = False
    """Whether who could edit all groups needs the verb `divide` on a group above the edited one."""
    maxima: GroupMaxima = GroupMaxima()
    priorities: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By group, the PriorityClasses that workloads of it and of the groups below may name; the nearest entry counts."""
    workload_priorities: Mapping[str, WorkloadPriority] = field(default_factory=dict)
    """By name. They order workloads in their leaf in place of their pods' priority; unknown to kube-scheduler."""
    gates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By name of a hold gate, the users who alone may take it off; all who may edit the workload take off others."""
    forecast_steps: int = 1_000
    """How many steps a forecast takes at most, all its runs together; 0: nothing is forecast. No decision reads it."""
    default_group: bool = False
    """Whether workloads that name no group, and whose namespace names none, belong to `default`."""

    def is_of_devices(self, resource: str) -> bool:
        """Return whether devices count as this resource: no node says how many it has."""
        return self.devices is not None and resource in self.devices

    def is_given(self, key: FlavorResource) -> bool:
        """Return whether root's capacity of the key is given by hand."""
        return any((flavor, resource) == key for flavor, resource, _ in self.capacity)

    def is_of_nodes(self, key: FlavorResource) -> bool:
        """Return whether nodes decide how much root has of the key."""
        is_of_nodes = self.capacity_source is CapacitySource.NODES and not self.is_of_devices(key.resource)
        return is_of_nodes and not self.is_given(key)

    def is_promised(self, key: FlavorResource) -> bool:
        """Return whether root's capacity of the key is what the first level is promised; that of a count is no bound.

        No node says then how much there is, so percents are shares of root's own max.
        """
        is_of_groups = self.capacity_source is CapacitySource.GROUPS or self.is_of_devices(key.resource)
        return (is_of_groups or key.resource == WORKLOAD_COUNT) and not self.is_given(key)
