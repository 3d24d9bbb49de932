"""What a QuotaGroup object says: its spec as it is written, and the status the reconciler writes.

ResourceList stay text here; `shared.quota.model.read.groups` makes a `Group` of it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from shared.api.conditions import Condition
from shared.api.core.metadata import QuotaMetadata
from shared.api.json.reading import ResourceList, View, reader
from shared.resources import read_amount, write_quantity

MAX_LARGEST_NODES: Final = 16
"""Of a flavor with more, none of which exceeds another, `largestNodes` says nothing."""


class EntrySpec(View, frozen=True):
    """One flavor's quota."""

    flavor: str = "default"
    min: ResourceList = {}
    max: ResourceList = {}
    borrowing_limit: ResourceList = {}
    lending_limit: ResourceList = {}
    weight: ResourceList = {}


class OverrideSpec(View, frozen=True):
    """What is different between two moments; moments are text in RFC 3339."""

    start: str = msgspec.field(name="from")
    until: str
    quotas: list[EntrySpec] = []
    stop_policy: str | None = None
    budgets: list["BudgetSpec"] = []
    reason: str = ""
    notice_before: str | None = None


class WindowSpec(View, frozen=True):
    """What is different again and again: a schedule of cron, and a duration as text such as 8h."""

    schedule: str
    duration: str
    time_zone: str | None = None
    quotas: list[EntrySpec] = []
    stop_policy: str | None = None
    budgets: list["BudgetSpec"] = []
    reason: str = ""
    notice_before: str | None = None


class RequirementSpec(View, frozen=True):
    """One matchExpressions entry of a label selector."""

    key: str
    operator: str
    values: list[str] = []


class SelectorSpec(View, frozen=True):
    """A label selector; empty matches everything."""

    match_labels: dict[str, str] = {}
    match_expressions: list[RequirementSpec] = []


class QueueingSpec(View, frozen=True):
    """How a leaf's queue is served; durations are text such as 30s."""

    strategy: str | None = None
    patience: str | None = None
    order: str | None = None
    weights: ResourceList = {}


class FungibilitySpec(View, frozen=True):
    """When the next flavor is tried instead of this one."""

    when_can_borrow: str | None = None
    when_can_reclaim: str | None = None


class PreemptionSpec(View, frozen=True):
    """Who may preempt whom inside the group."""

    within_group: str | None = None


class ReclaimSpec(View, frozen=True):
    """Overrides of the cluster's reclaim settings; durations are text such as 30s."""

    mode: str | None = None
    grace_period: str | None = None
    notice: str | None = None
    exempt_after_start: str | None = None
    claim_timeout: str | None = None


class StartupSpec(View, frozen=True):
    """Overrides of the cluster's all-or-nothing settings."""

    wait_for_pods_ready: bool | None = None
    block_admission: str | None = None
    timeout: str | None = None
    recovery_timeout: str | None = None
    gang: bool | None = None
    backoff_base: str | None = None
    backoff_max: str | None = None
    limit: int | None = None


class BudgetSpec(View, frozen=True):
    """How many hours of a resource may be used in a period; without a flavor, of all flavors together."""

    resource: str
    hours: str | int | float
    period: str
    flavor: str = ""
    time_zone: str = "UTC"
    when_spent: str = "Warn"


class QuotaGroupSpec(View, frozen=True):
    """The spec of a QuotaGroup, as a person writes it."""

    parent: str | None = None
    is_parent: bool = False
    quotas: list[EntrySpec] = []
    allow_lending: bool = True
    namespace_selector: SelectorSpec | None = None
    require_requests: bool = False
    queueing: QueueingSpec = QueueingSpec()
    flavor_fungibility: FungibilitySpec = FungibilitySpec()
    preemption: PreemptionSpec = PreemptionSpec()
    reclaim: ReclaimSpec = ReclaimSpec()
    startup: StartupSpec = StartupSpec()
    max_run_time: str | None = None
    budgets: list[BudgetSpec] = []
    stop_policy: str | None = None
    overrides: list[OverrideSpec] = []
    windows: list[WindowSpec] = []


class PercentStatus(View, frozen=True):
    """A limit that is written as a percent, and what it comes to now; empty where that is not known."""

    limit: str = ""
    resource: str = ""
    percent: str = ""
    amount: str = ""


class QuotaStatus(View, frozen=True):
    """One flavor's numbers as they are now; `min` as in effect, `capacity` on root only.

    `largest_nodes`, on root only: what a pod of the flavor could get of one node; absent: not known, or too many.
    `over_since`: by resource, since when the group has been above its runtime there without a break.
    `past_use`: by resource, decayed past use in base units times seconds, at the status's `past_use_time`.
    """

    flavor: str = "default"
    min: ResourceList = {}
    request: ResourceList = {}
    used: ResourceList = {}
    non_preemptible: ResourceList = {}
    charge: ResourceList = {}
    runtime: ResourceList = {}
    borrowed: ResourceList = {}
    lendable: ResourceList = {}
    capacity: ResourceList = {}
    largest_nodes: list[ResourceList] | None = None
    over_since: dict[str, datetime] = {}
    past_use: dict[str, str] = {}
    percents: list[PercentStatus] = []


class LenderAccount(View, frozen=True):
    """What one sibling lent, by resource; without a name: what all did that are not listed."""

    group: str = ""
    amounts: dict[str, str] = {}


class FlavorAccount(View, frozen=True):
    """What was used of one flavor, by resource: base units times milliseconds, as text; what is 0 is absent.

    `borrowed`: the part of `used` above min; `borrowed_from`: which sibling lent what of that. `lent`: what siblings
    used of this group's min. `lost`: the part of `used` that evictions made useless.
    """

    flavor: str = "default"
    used: dict[str, str] = {}
    borrowed: dict[str, str] = {}
    lent: dict[str, str] = {}
    lost: dict[str, str] = {}
    borrowed_from: list[LenderAccount] = []


class FlavorUse(View, frozen=True):
    """What was used of one flavor, by resource: base units times milliseconds, as text."""

    flavor: str = "default"
    used: dict[str, str] = {}


class NamespaceAccount(View, frozen=True):
    """What workloads of one namespace used; without a name: of all that are not listed."""

    namespace: str = ""
    flavors: list[FlavorUse] = []


class PeriodAccountStatus(View, frozen=True):
    """The account of one month, such as 2026-10; of a leaf also by namespace."""

    period: str = ""
    flavors: list[FlavorAccount] = []
    namespaces: list[NamespaceAccount] = []


class FlavorBeside(View, frozen=True):
    """What a parent has of one flavor beside its children, by resource: base units times milliseconds, as text."""

    flavor: str = "default"
    used: dict[str, str] = {}
    lost: dict[str, str] = {}


class PeriodBeside(View, frozen=True):
    """What a parent has of one month beside its children."""

    period: str = ""
    flavors: list[FlavorBeside] = []


class BesideChildrenStatus(View, frozen=True):
    """What a parent's account has beside its children's: what groups used that were moved away or deleted.

    Amounts below 0 are what groups that were moved in had used before. `children` stands for the set of children.
    """

    children: str = ""
    accounts: list[PeriodBeside] = []


class SeriesRunTimes(View, frozen=True):
    """How long workloads of one series ran; the latest is the last. `series`: a number that stands for its name."""

    series: str = ""
    seconds: list[int] = []


class PastArrivalsStatus(View, frozen=True):
    """Workloads that have ended with the same request, in base units, and the same priority.

    When each came, in seconds since 1970, and how long it ran.
    """

    request: dict[str, str] = {}
    priority: int = 0
    came: list[int] = []
    seconds: list[int] = []


class RunTimesStatus(View, frozen=True):
    """How long workloads of a leaf ran. `percents`: of what their owners had expected.

    `waits_of_earliest`, `waits_of_latest`: how long they waited of what was forecast, in thousandths. `arrivals`: the
    latest that came after `arrivals_since`, in seconds since 1970, and have ended.
    """

    workloads: list[SeriesRunTimes] = []
    percents: list[int] = []
    arrivals: list[PastArrivalsStatus] = []
    arrivals_since: int = 0
    waits_of_earliest: list[int] = []
    waits_of_latest: list[int] = []


class BudgetStatus(View, frozen=True):
    """One budget in its current period: what it is, and what of it is used.

    `used`: at `accountedUntil`, in base units times milliseconds, as text. `counted_since`: later than the beginning of
    the period if use before is not known. `expected_at`: when it will be spent at the present use.
    """

    resource: str = ""
    flavor: str = ""
    period: str = ""
    time_zone: str = ""
    hours: str = ""
    when_spent: str = ""
    since: datetime | None = None
    until: datetime | None = None
    counted_since: datetime | None = None
    used: str = ""
    used_hours: str = ""
    spent_at: datetime | None = None
    expected_at: datetime | None = None


class RequesterStatus(View, frozen=True):
    """Decayed past use of one namespace or user in a leaf whose order is by these; without a name: of all others."""

    name: str = ""
    past_use: dict[str, str] = {}


class WorkloadCounts(View, frozen=True, omit_defaults=False):
    """How many workloads there are in the group and below. `waiting`: reason → how many wait for it, counted lately."""

    pending: int = 0
    admitted: int = 0
    ready: int = 0
    waiting: dict[str, int] = {}


class Columns(View, frozen=True):
    """What `kubectl get` prints: over all flavors, as text."""

    min: str = ""
    used: str = ""
    runtime: str = ""


class QuotaGroupStatus(View, frozen=True):
    """The status of a QuotaGroup, as the reconciler writes it."""

    conditions: list[Condition] = []
    quotas: list[QuotaStatus] = []
    workloads: WorkloadCounts = WorkloadCounts()
    columns: Columns = Columns()
    requesters: list[RequesterStatus] = []
    past_use_time: datetime | None = None
    accounts: list[PeriodAccountStatus] = []
    accounted_until: datetime | None = None
    beside_children: BesideChildrenStatus = BesideChildrenStatus()
    run_times: RunTimesStatus = RunTimesStatus()
    budgets: list[BudgetStatus] = []
    observed_generation: int = 0


class QuotaGroup(View, frozen=True):
    """A QuotaGroup object: metadata, spec and status."""

    metadata: QuotaMetadata = QuotaMetadata()
    spec: QuotaGroupSpec = QuotaGroupSpec()
    status: QuotaGroupStatus = QuotaGroupStatus()


read_quota_group = reader(QuotaGroup)


def write_quotas(amounts: Mapping[str, int]) -> ResourceList:
    """Amounts in base units as quantity texts, by resource name."""
    return {resource: write_quantity(resource, amount) for resource, amount in sorted(amounts.items())}


def write_columns(quotas: Iterable[QuotaStatus]) -> Columns:
    """Return the printed columns: each resource summed over the flavors, such as `cpu 96, memory 640Gi`."""
    entries = tuple(quotas)
    return Columns(
        min=_summed(entry.min for entry in entries),
        used=_summed(entry.used for entry in entries),
        runtime=_summed(entry.runtime for entry in entries),
    )


def _summed(maps: Iterable[ResourceList]) -> str:
    total: dict[str, int] = {}
    for quantities in maps:
        for resource, quantity in quantities.items():
            total[resource] = total.get(resource, 0) + read_amount(resource, str(quantity))
    return ", ".join(f"{resource} {write_quantity(resource, total[resource])}" for resource in sorted(total))
