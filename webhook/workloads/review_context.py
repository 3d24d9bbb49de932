"""What a judge of a workload reads, frozen for one review: tree, flavors, namespace, and the reconciler's user."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from shared.api.core.metadata import LONG_AGO
from shared.api.core.pod import PodSpec
from shared.api.names import JOB_CONTROLLERS
from shared.api.review import Review
from shared.kinds.kind import Kinds
from shared.quota.model.membership import resolve_group
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.rules.workloads.submitted_workload import WorkloadContext
from webhook.workloads.dialects import QueueLabels

NO_KINDS = Kinds()


@dataclass(frozen=True, slots=True)
class Cover:
    """The governed object for which the reviewed one is created: its uid, and its group if known.

    `at_most`: of a pod that another pod makes: what the object declares for it.
    """

    unit: str
    group: str | None = None
    at_most: PodSpec | None = None


@dataclass(frozen=True, slots=True)
class ReviewContext:
    """`namespace` is the review's; `job_group` knows by uid the groups of the Jobs that Quotree starts.

    `cover`: for which object of a governed kind the new object is made, by that kind's operator or, for a Job of it, by
    the Job controller. `by_operator`: whether the operator of the object's owner sent the request. `kinds`: those that
    are governed.
    """

    quota: WorkloadContext
    namespace: NamespaceContext = field(default_factory=NamespaceContext)
    reconciler: str = ""
    job_group: Callable[[str], str | None] = lambda _uid: None
    job_controllers: Collection[str] = JOB_CONTROLLERS
    cover: Cover | None = None
    by_operator: bool = False
    kinds: Kinds = NO_KINDS
    not_covered: str = ""
    """Why a pod that the pod of a governed object makes does not count for that object."""
    now: datetime = LONG_AGO
    queues: QueueLabels | None = None
    """What labels of Kueue mean; None: nothing."""
    has_pod_groups: bool = False
    """Whether the API server knows PodGroups, and Quotree makes them."""

    def group_of(self, labels: Mapping[str, str]) -> str | None:
        """Return the group that a workload with these labels in this namespace resolves to."""
        if self.queues is not None:
            labels = self.queues.with_group(labels)
        default = self.quota.settings.default_group
        return resolve_group(labels, self.namespace.namespace_labels, default_group=default)

    def is_by_reconciler(self, review: Review) -> bool:
        """Return whether the reconciler sent the request."""
        return review.user_info.username == self.reconciler

    def is_by_job_controller(self, review: Review) -> bool:
        """Return whether Kubernetes' own Job controller sent the request."""
        return review.user_info.username in self.job_controllers
