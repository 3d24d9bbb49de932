"""What a judge of work may look at, frozen for one review: tree, flavors, namespace, and who the reconciler is."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from shared.api.review import Review
from shared.quota.model.membership import resolve_group
from shared.quota.model.reading import Surroundings
from shared.quota.model.rules.posted import WorkContext

JOB_CONTROLLERS: Final = ("system:serviceaccount:kube-system:job-controller", "system:kube-controller-manager")
"""The users as which Kubernetes' Job controller makes pods, with an account of its own or without."""


@dataclass(frozen=True, slots=True)
class Scene:
    """`around` is the namespace of the review; `is_managed_job` knows by uid the Jobs that Quotree starts."""

    context: WorkContext
    around: Surroundings = field(default_factory=Surroundings)
    reconciler: str = ""
    is_managed_job: Callable[[str], bool] = lambda _uid: False
    job_controllers: Collection[str] = JOB_CONTROLLERS

    def group_of(self, labels: Mapping[str, str]) -> str | None:
        """The group that work with these labels in this namespace resolves to."""
        default = self.context.settings.default_group
        return resolve_group(labels, self.around.namespace_labels, default_group=default)

    def is_by_reconciler(self, review: Review) -> bool:
        """Whether the reconciler asks."""
        return review.user_info.username == self.reconciler

    def is_by_job_controller(self, review: Review) -> bool:
        """Whether Kubernetes' own Job controller asks."""
        return review.user_info.username in self.job_controllers
