"""The `quota:` part of a settings file, which every process and `simulate --settings` share.

Keys are as in the chart's values.yaml; durations are written 30s, 5m, 1h30m. Defaults are the engine's own.
"""

from datetime import timedelta
from typing import Annotated, Final

import msgspec

from shared.api.durations import SHORTEST_RUN_TIME, write_duration
from shared.api.json.reading import Int32
from shared.quota.model.devices.resources import DeviceResources
from shared.quota.model.lifecycle import above_maximum, written_name
from shared.quota.model.rules.groups.names import is_resource_name
from shared.quota.model.settings import (
    BlockAdmission,
    CapacitySource,
    GroupMaxima,
    LongTermination,
    QueueAge,
    QueueingMaxima,
    QuotaSettings,
    ReclaimMaxima,
    ReclaimMode,
    ReclaimSettings,
    RunTimeMaxima,
    StartupMaxima,
    StartupSettings,
    Uncovered,
    UnlabelledNamespaces,
    WorkloadPriority,
)

_RECLAIM = ReclaimSettings()
_STARTUP = StartupSettings()
_QUOTA = QuotaSettings()

_NAME: Final = r"^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?\Z"
"""The part of a label's key after the prefix, as Kubernetes has it, or a label's value."""

Positive = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Depth = Annotated[int, msgspec.Meta(ge=1, le=64)]


class ReclaimFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`reclaim:` how borrowed quota is reclaimed."""

    mode: ReclaimMode = _RECLAIM.mode
    grace_period: timedelta = _RECLAIM.grace_period
    notice: timedelta = _RECLAIM.notice
    exempt_after_start: timedelta = _RECLAIM.exempt_after_start
    claim_timeout: timedelta = _RECLAIM.claim_timeout
    eviction_timeout: timedelta = _RECLAIM.eviction_timeout
    max_termination_grace_period: timedelta | None = _RECLAIM.max_termination_grace_period
    long_termination: LongTermination = _RECLAIM.long_termination


class StartupFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`startup:` all or nothing. Absent `recoveryTimeout` and `limit`: never."""

    wait_for_pods_ready: bool = _STARTUP.wait_for_pods_ready
    block_admission: BlockAdmission = _STARTUP.block_admission
    timeout: timedelta = _STARTUP.timeout
    recovery_timeout: timedelta | None = _STARTUP.recovery_timeout
    backoff_base: timedelta = _STARTUP.backoff_base
    backoff_max: timedelta = _STARTUP.backoff_max
    limit: Positive | None = _STARTUP.limit


class ReclaimMaximaFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`maxima.reclaim:` the largest settings of a group. Absent: no limit."""

    grace_period: timedelta | None = None
    notice: timedelta | None = None
    exempt_after_start: timedelta | None = None
    claim_timeout: timedelta | None = None


class StartupMaximaFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`maxima.startup:` the largest settings of a group. Absent: no limit."""

    block_admission: BlockAdmission | None = None
    timeout: timedelta | None = None
    recovery_timeout: timedelta | None = None


class QueueingMaximaFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`maxima.queueing:` the largest settings of a group. Absent: no limit."""

    patience: timedelta | None = None


class MaximaFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`maxima:` limits of the settings with which a group affects others."""

    reclaim: ReclaimMaximaFile = ReclaimMaximaFile()
    startup: StartupMaximaFile = StartupMaximaFile()
    queueing: QueueingMaximaFile = QueueingMaximaFile()
    max_run_time: timedelta | None = None

    def __post_init__(self) -> None:
        if self.max_run_time is not None and self.max_run_time < SHORTEST_RUN_TIME:
            raise ValueError(f"maxRunTime is less than {write_duration(SHORTEST_RUN_TIME)}")

    def maxima(self) -> GroupMaxima:
        """Return the engine's maxima."""
        return GroupMaxima(
            ReclaimMaxima(**msgspec.structs.asdict(self.reclaim)),
            StartupMaxima(**msgspec.structs.asdict(self.startup)),
            QueueingMaxima(self.queueing.patience),
            RunTimeMaxima(self.max_run_time),
        )


class CapacityFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`capacity:` the source of root's capacity."""

    source: CapacitySource = _QUOTA.capacity_source
    node_grace_period: timedelta = _QUOTA.node_grace_period
    loss_grace_period: timedelta = _QUOTA.loss_grace_period


class DevicesFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`devices:` whether devices that pods request by ResourceClaims are counted, and as which resources."""

    counted: bool = False
    names: dict[str, str] = {}

    def __post_init__(self) -> None:
        for device_class, resource in self.names.items():
            if not (is_resource_name(resource) and "/" in resource):
                raise ValueError(f"names[{device_class[:63]}] is no resource with a domain, like example.com/gpu")

    def resources(self) -> DeviceResources | None:
        """Return the resources that devices count as; None: they are not counted."""
        return DeviceResources(self.names) if self.counted else None


class ResourcesFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`resources:` how a resource that no entry covers is treated, and which are never counted."""

    uncovered: Uncovered = _QUOTA.uncovered
    ignored: tuple[str, ...] = tuple(sorted(_QUOTA.ignored_resources))
    devices: DevicesFile = DevicesFile()


class FairnessFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`fairness:` how units that cannot be divided are shared over time."""

    half_life: timedelta = _QUOTA.fairness_half_life


class QueueingFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`queueing:` how queues are served unless a group sets it. `patience: null`: indefinitely."""

    patience: timedelta | None = _QUOTA.queueing_patience


class ForecastFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`forecast:` what saying when workloads will start may cost. `steps: 0`: it is not said."""

    steps: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = _QUOTA.forecast_steps


class GateFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One of `gates:` a hold gate by name, without its prefix, and the users who alone may take it off."""

    name: Annotated[str, msgspec.Meta(pattern=_NAME)]
    users: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]


class WorkloadPriorityFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One of `workloadPriorities:` its name, its value, and the groups whose workloads may name it; absent: all."""

    name: Annotated[str, msgspec.Meta(pattern=_NAME)]
    value: Int32
    groups: tuple[str, ...] | None = None


class QuotaSettingsFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`quota:` everything that the engine's results depend on besides the cluster's objects."""

    reclaim: ReclaimFile = ReclaimFile()
    startup: StartupFile = StartupFile()
    capacity: CapacityFile = CapacityFile()
    resources: ResourcesFile = ResourcesFile()
    fairness: FairnessFile = FairnessFile()
    queueing: QueueingFile = QueueingFile()
    forecast: ForecastFile = ForecastFile()
    queue_age: QueueAge = _QUOTA.queue_age
    max_depth: Depth = _QUOTA.max_depth
    open_groups: bool = _QUOTA.open_groups
    unlabelled_namespaces: UnlabelledNamespaces = _QUOTA.unlabelled_namespaces
    namespace_label_binds: bool = _QUOTA.namespace_label_binds
    require_use: bool = _QUOTA.require_use
    require_divide: bool = _QUOTA.require_divide
    gang_scheduling: bool = _QUOTA.gang_scheduling
    maxima: MaximaFile = MaximaFile()
    priorities: dict[str, tuple[str, ...]] = {}
    workload_priorities: tuple[WorkloadPriorityFile, ...] = ()
    gates: tuple[GateFile, ...] = ()
    default_group: bool = _QUOTA.default_group

    def __post_init__(self) -> None:
        settings = self.settings()
        if len(settings.gates) < len(self.gates):
            raise ValueError("gates has a name twice; give each once, with all its users")
        if len(settings.workload_priorities) < len(self.workload_priorities):
            raise ValueError("workloadPriorities has a name twice; give each once, with all its groups")
        for part, own, most in (
            ("reclaim", settings.reclaim, settings.maxima.reclaim),
            ("startup", settings.startup, settings.maxima.startup),
            ("queueing", self.queueing, settings.maxima.queueing),
        ):
            for name, _, _ in above_maximum(own, most):
                raise ValueError(f"{part}.{written_name(name)} is more than maxima.{part}.{written_name(name)}")

    def settings(self) -> QuotaSettings:
        """Return the engine's settings."""
        return QuotaSettings(
            reclaim=ReclaimSettings(**msgspec.structs.asdict(self.reclaim)),
            startup=StartupSettings(**msgspec.structs.asdict(self.startup)),
            capacity_source=self.capacity.source,
            node_grace_period=self.capacity.node_grace_period,
            loss_grace_period=self.capacity.loss_grace_period,
            uncovered=self.resources.uncovered,
            ignored_resources=frozenset(self.resources.ignored),
            devices=self.resources.devices.resources(),
            fairness_half_life=self.fairness.half_life,
            queueing_patience=self.queueing.patience,
            forecast_steps=self.forecast.steps,
            queue_age=self.queue_age,
            max_depth=self.max_depth,
            open_groups=self.open_groups,
            unlabelled_namespaces=self.unlabelled_namespaces,
            namespace_label_binds=self.namespace_label_binds,
            require_use=self.require_use,
            require_divide=self.require_divide,
            gang_scheduling=self.gang_scheduling,
            maxima=self.maxima.maxima(),
            priorities=self.priorities,
            workload_priorities={
                each.name: WorkloadPriority(each.value, each.groups) for each in self.workload_priorities
            },
            gates={each.name: each.users for each in self.gates},
            default_group=self.default_group,
        )
