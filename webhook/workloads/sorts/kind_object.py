"""An object of a governed kind is suspended where its descriptor says; each of its pod sets is judged alone. Pure.

An object of one governed kind that an operator creates for an object of another is not held: the other one is. See
docs/specification.md §13.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

from shared.api.json.patches import Operation
from shared.kinds.kind import Kind
from shared.kinds.kind_object import KindObject
from shared.kinds.operations import suspend_operations
from shared.kinds.paths import show
from shared.kinds.reading import read_kind_object
from shared.quota.model.rules.findings import NO_FINDINGS, Findings, Violation
from shared.quota.model.rules.workloads.changed_workload import WorkloadEdit, WorkloadProgress
from shared.quota.model.rules.workloads.governed_kind import check_kind_object
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.sorts.pod_set_checks import check_running, check_set_growth, check_sets_fit, check_templates
from webhook.workloads.sorts.sort import ReviewSort
from webhook.workloads.workload_review import WorkloadReview
from webhook.workloads.workload_side import PodSetSide, WorkloadSide


@dataclass(frozen=True)
class KindSide(WorkloadSide):
    """An object of a governed kind on one side of a review."""

    seen: KindObject

    @property
    def is_held(self) -> bool:
        """Whether its flag holds it."""
        return self.seen.suspended

    @property
    def has_finished(self) -> bool:
        """Whether its descriptor says that it has ended."""
        return self.seen.finished

    @property
    def is_readable(self) -> bool:
        """Whether its flag and pod sets are as the descriptor says."""
        return not self.seen.problems

    @cached_property
    def flaws(self) -> tuple[Violation, ...]:
        """What keeps it from being governed as a whole."""
        return tuple(check_kind_object(self.name, self.seen))

    @cached_property
    def pod_sets(self) -> tuple[PodSetSide, ...]:
        """Its pod sets, in their order."""
        return tuple(PodSetSide(each.spec, each.count, self.context, each.name) for each in self.seen.pod_sets)

    @cached_property
    def submitted(self) -> SubmittedWorkload:
        """The object as its owner wrote it; its request is checked by pod set. Raises QuantityError."""
        return replace(self.described(), pods=0, suspend=show(self.seen.kind.suspend))

    @cached_property
    def progress(self) -> WorkloadProgress:
        """How far it has come; its growth is checked by pod set."""
        return WorkloadProgress(held=self.is_held, annotations=self.annotations)


@dataclass(frozen=True)
class KindReviews(ReviewSort[KindSide]):
    """How reviews of objects of one governed kind differ."""

    kind: Kind

    def read(self, body: msgspec.Raw, context: ReviewContext) -> KindSide:
        """Return the object, of one side of a review; in no group where its descriptor leaves it out."""
        seen = read_kind_object(self.kind, body)
        group = None if seen.skipped else context.group_of(seen.metadata.labels)
        return KindSide(self.kind.kind, seen.metadata, group, context, seen)

    def hold(self, new: KindSide) -> list[Operation]:
        """Set its flag."""
        return suspend_operations(new.seen, value=True)

    def check_ungrouped(self, edit: WorkloadReview[KindSide]) -> Findings:
        """Judge a new object that has no group, unless its descriptor leaves it out."""
        return NO_FINDINGS if edit.new.seen.skipped else super().check_ungrouped(edit)

    def check_forged(self, edit: WorkloadReview[KindSide]) -> Findings:
        """Deny what only Quotree writes on its templates."""
        return Findings(tuple(check_templates(edit.new.submitted, edit.new.seen, "")))

    def check_fit(self, edit: WorkloadReview[KindSide]) -> Findings:
        """Judge whether each pod set could ever start."""
        return check_sets_fit(edit.new.submitted, edit.new.seen, edit.new.pod_sets, edit.context)

    def check_changed(self, edit: WorkloadReview[KindSide], changed: WorkloadEdit) -> Findings:
        """Judge the edit, and that of each pod set and template."""
        found, old, new = super().check_changed(edit, changed), edit.old, edit.new
        if changed.after is None or old is None:
            return found
        forged = check_templates(changed.after, new.seen, "") if edit.joins else ()
        grown = check_set_growth(changed, old.pod_sets, new.pod_sets)
        return found + Findings((*forged, *grown, *check_running(changed.after, old.seen, new.seen)))
