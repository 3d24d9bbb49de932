"""Reviews of objects that operators create of ungoverned kinds: labelled with the object they belong to. Pure.

Their pods then count for that object. Objects of such a kind from other users are not changed: their pods are held
individually. See docs/specification.md §13.3.
"""

from shared.api.core.metadata import Metadata
from shared.api.json.reading import View, reader
from shared.api.review import Review, ReviewOperation
from webhook.verdicts import YES, Verdict, verdict_of
from webhook.workloads.common import allow_child, check_label
from webhook.workloads.review_context import ReviewContext


class _Child(View, frozen=True):
    metadata: Metadata = Metadata()


_read = reader(_Child)


def mutate_child(review: Review, context: ReviewContext) -> Verdict:
    """Label it with the object that it belongs to."""
    if review.operation is not ReviewOperation.CREATE or context.cover is None:
        return YES
    return allow_child(_read(review.object).metadata, context.cover, with_group=False)


def judge_child(review: Review, context: ReviewContext) -> Verdict:
    """Only the operator can set or change that label."""
    old = _read(review.old_object).metadata if review.operation is ReviewOperation.UPDATE else None
    return verdict_of(check_label(review.kind.kind, _read(review.object).metadata, old, context))
