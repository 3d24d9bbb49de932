"""Reviews of the scale subresource of governed kinds: no managed object is raised by it. Pure."""

from shared.api.core.metadata import Metadata
from shared.api.json.reading import Int32, View, reader
from shared.api.review import Review
from shared.quota.model.rules.findings import Findings
from shared.quota.model.rules.workloads.governed_kind import check_scale
from webhook.verdicts import YES, Verdict, verdict_of


class _ScaleSpec(View, frozen=True):
    replicas: Int32 = 0


class _Scale(View, frozen=True):
    """What the scale subresource shows of an object: no labels, and nothing of what its pods request."""

    metadata: Metadata = Metadata()
    spec: _ScaleSpec = _ScaleSpec()


read_scale = reader(_Scale)


def judge_scale(review: Review, managed: str | None) -> Verdict:
    """Deny to raise an object by its scale subresource. `managed`: its kind, if it or what it is made for is managed.

    Every HorizontalPodAutoscaler uses it, as an account of kube-system, for the tenant who made the autoscaler.
    """
    if managed is None:
        return YES
    was, now = read_scale(review.old_object).spec.replicas, read_scale(review.object).spec.replicas
    return verdict_of(Findings(tuple(check_scale(managed, review.name, was, now))))
