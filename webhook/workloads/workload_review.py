"""One review of a workload, read: the object before and after, and what follows from both. Pure."""

from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from shared.api.core.metadata import Metadata
from shared.api.review import Review
from shared.resources import QuantityError
from webhook.workloads.queue_edit import QueueEdit, requests_more
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.workload_side import WorkloadSide, as_judged

SideT = TypeVar("SideT", bound=WorkloadSide)


@dataclass(frozen=True)
class WorkloadReview(Generic[SideT]):
    """A review of a workload. `old` None: creation."""

    review: Review
    context: ReviewContext
    new: SideT
    old: SideT | None

    @property
    def group(self) -> str | None:
        """The group afterwards; None: not managed."""
        return self.new.group

    @property
    def old_group(self) -> str | None:
        """The group before; None: it was not managed, or is being created."""
        return None if self.old is None else self.old.group

    @property
    def moves(self) -> bool:
        """Whether it is in another group afterwards; so it is at creation."""
        return self.group != self.old_group

    @property
    def joins(self) -> bool:
        """Whether the edit makes it managed: it is judged as if it were created."""
        return self.old is not None and self.old_group is None and self.group is not None

    @property
    def follows_queue(self) -> bool:
        """Whether it joins the group that its queue of Kueue means: what Kueue has started is taken over as it runs."""
        old, queues = self.old, self.context.queues
        if old is None or queues is None or not self.joins:
            return False
        return self.group == queues.group_of(old.metadata.labels) == queues.group_of(self.new.metadata.labels)

    @property
    def by_reconciler(self) -> bool:
        """Whether the reconciler sent the edit."""
        return self.old is not None and self.context.is_by_reconciler(self.review)

    @property
    def is_of_child(self) -> bool:
        """Whether an operator made it for a started object, which accounts for it."""
        if self.old is None or not self.old.metadata.unit:
            return False
        return self.context.by_operator or not self.joins

    @property
    def known(self) -> Metadata | None:
        """The metadata that Quotree has judged before; None: nothing of this object."""
        return None if self.old is None or (self.joins and not self.is_of_child) else self.old.metadata

    @cached_property
    def queue_edit(self) -> QueueEdit | None:
        """What the edit means for its place in the queue; None at creation."""
        old, new = self.old, self.new
        if old is None:
            return None
        try:
            is_more = self.moves or requests_more(old.peak, new.peak)
        except QuantityError:
            is_more = False
        return QueueEdit(as_judged(old.metadata, old.group), new.metadata, old.is_held and new.is_held, is_more)
