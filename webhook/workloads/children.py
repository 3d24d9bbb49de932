"""Reviews of what operators make of kinds that are not governed: labelled for the object that it is made for. Pure.

The pods that are made of it are then told as that object's. What anybody else makes of such a kind is left alone: its
pods are held one by one.

See docs/specification.md §13.3.
"""

from shared.api.core.metadata import Metadata
from shared.api.reading import View, reader
from shared.api.review import Operation, Review
from webhook.verdicts import YES, Verdict, verdict_of
from webhook.workloads.common import allow_child, check_label
from webhook.workloads.review_context import ReviewContext


class _Child(View, frozen=True):
    metadata: Metadata = Metadata()


_read = reader(_Child)


def mutate_child(review: Review, context: ReviewContext) -> Verdict:
    """Say for which object it is made."""
    if review.operation is not Operation.CREATE or context.cover is None:
        return YES
    return allow_child(_read(review.object).metadata, context.cover, with_group=False)


def judge_child(review: Review, context: ReviewContext) -> Verdict:
    """Nobody else says so."""
    old = _read(review.old_object).metadata if review.operation is Operation.UPDATE else None
    return verdict_of(check_label(review.kind.kind, _read(review.object).metadata, old, context))
