"""Kinds without a suspend flag: their pods are gated in groups, and deadlocks are denied. Pure.

The operator labels its pods with their group and its size; Quotree's pod group gets the same name and size, and starts
whole or not at all. This requires that all pods of a group are created before the first one runs: objects that their
descriptor excludes for this reason are denied here. See docs/specification.md §13.5.
"""

from shared.api.core.metadata import Metadata
from shared.api.names import POD_GROUP_LABEL, POD_GROUP_SIZE_LABEL, read_pod_group_size
from shared.api.review import Review, ReviewOperation
from shared.kinds.kind import Kind, Kinds
from shared.kinds.reading import read_kind_object
from shared.quota.model.rules.findings import Findings
from shared.quota.model.rules.workloads.governed_kind import check_governed_whole
from webhook.verdicts import Verdict, verdict_of
from webhook.workloads.review_context import ReviewContext
from webhook.workloads.workload_side import name_of


def pod_group_labels(metadata: Metadata, kinds: Kinds) -> dict[str, str]:
    """The labels of the pod group that a new pod's operator has put it in; none for a pod that names one itself."""
    if POD_GROUP_LABEL in metadata.labels or POD_GROUP_SIZE_LABEL in metadata.labels:
        return {}
    for kind in kinds.all:
        if kind.gate is None:
            continue
        name = metadata.labels.get(kind.gate.group_label, "")
        size = metadata.annotations.get(kind.gate.size_annotation, "")
        if name and read_pod_group_size(size) is not None:
            return {POD_GROUP_LABEL: name, POD_GROUP_SIZE_LABEL: size}
    return {}


def judge_gated_object(kind: Kind, review: Review, context: ReviewContext) -> Verdict:
    """Deny an object that cannot be governed completely, or an edit that makes it one."""
    seen = read_kind_object(kind, review.object)
    if seen.skipped or context.is_by_reconciler(review):
        return verdict_of(Findings())
    name = name_of(kind.kind, seen.metadata)
    broken = list(check_governed_whole(name, seen))
    if review.operation is ReviewOperation.UPDATE:
        before = set(check_governed_whole(name, read_kind_object(kind, review.old_object)))
        broken = [each for each in broken if each not in before]
    return verdict_of(Findings(tuple(broken)))
