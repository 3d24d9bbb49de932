"""What Kueue's objects say, v1beta1 and v1beta2: only what is carried over."""

from typing import Any

from shared.api.json.reading import View, reader


class ResourceQuotaView(View, frozen=True):
    """The quota of one resource of one flavor."""

    name: str
    nominal_quota: int | float | str = 0
    borrowing_limit: int | float | str | None = None
    lending_limit: int | float | str | None = None


class FlavorQuotasView(View, frozen=True):
    """The quotas of one flavor."""

    name: str
    resources: list[ResourceQuotaView] = []


class ResourceGroupView(View, frozen=True):
    """Flavors that are alternatives for the same resources."""

    flavors: list[FlavorQuotasView] = []


class FairSharingView(View, frozen=True):
    """The weight among siblings."""

    weight: int | float | str = 1


class FungibilityView(View, frozen=True):
    """When the next flavor is tried."""

    when_can_borrow: str = "MayStopSearch"
    when_can_preempt: str = "TryNextFlavor"
    preference: str = "BorrowingOverPreemption"


class BorrowWithinCohortView(View, frozen=True):
    """Whether borrowing workloads preempt others."""

    policy: str = "Never"


class QueuePreemptionView(View, frozen=True):
    """Who preempts whom."""

    reclaim_within_cohort: str = "Never"
    borrow_within_cohort: BorrowWithinCohortView = BorrowWithinCohortView()
    within_cluster_queue: str = "Never"


class AdmissionScopeView(View, frozen=True):
    """Whether LocalQueues are compared by what they have used."""

    admission_mode: str = "NoAdmissionFairSharing"


class ClusterQueueSpec(View, frozen=True):
    """The spec of a ClusterQueue. `cohort` is v1beta1's name of `cohort_name`."""

    cohort: str = ""
    cohort_name: str = ""
    resource_groups: list[ResourceGroupView] = []
    queueing_strategy: str = "BestEffortFIFO"
    namespace_selector: dict[str, Any] | None = None
    flavor_fungibility: FungibilityView = FungibilityView()
    preemption: QueuePreemptionView = QueuePreemptionView()
    stop_policy: str = "None"
    fair_sharing: FairSharingView | None = None
    admission_scope: AdmissionScopeView = AdmissionScopeView()

    @property
    def compares_local_queues(self) -> bool:
        """Whether the LocalQueue with the least past use is next."""
        return self.admission_scope.admission_mode == "UsageBasedAdmissionFairSharing"


class ClusterQueue(View, frozen=True):
    """A ClusterQueue."""

    spec: ClusterQueueSpec = ClusterQueueSpec()


class CohortSpec(View, frozen=True):
    """The spec of a Cohort. `parent` is v1alpha1's name of `parent_name`."""

    parent: str = ""
    parent_name: str = ""
    resource_groups: list[ResourceGroupView] = []
    fair_sharing: FairSharingView | None = None


class Cohort(View, frozen=True):
    """A Cohort."""

    spec: CohortSpec = CohortSpec()


class LocalQueueSpec(View, frozen=True):
    """The spec of a LocalQueue."""

    cluster_queue: str = ""
    stop_policy: str = "None"
    fair_sharing: FairSharingView | None = None


class LocalQueue(View, frozen=True):
    """A LocalQueue."""

    spec: LocalQueueSpec = LocalQueueSpec()


class WorkloadPriorityClass(View, frozen=True):
    """A WorkloadPriorityClass."""

    value: int = 0
    description: str = ""


read_cluster_queue = reader(ClusterQueue)
read_cohort = reader(Cohort)
read_local_queue = reader(LocalQueue)
read_workload_priority_class = reader(WorkloadPriorityClass)
CLUSTER_QUEUE_FIELDS = frozenset(
    {
        "cohort",
        "cohortName",
        "resourceGroups",
        "queueingStrategy",
        "namespaceSelector",
        "flavorFungibility",
        "preemption",
        "stopPolicy",
        "fairSharing",
        "admissionScope",
    }
)
COHORT_FIELDS = frozenset({"parent", "parentName", "resourceGroups", "fairSharing"})
