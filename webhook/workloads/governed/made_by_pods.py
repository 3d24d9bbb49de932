"""Pods that a pod of a started object makes, as Spark's driver makes executors: whether the object accounts for them.

No service account is believed: the request must be sent with the token of the very pod that it names as controller.
What the program in that pod is, nobody knows; so it makes no more and no larger pods than the object declares.

See docs/specification.md §13.4.
"""

from collections.abc import Callable, Iterator
from typing import Final

from shared.api.core.metadata import Metadata, OwnerReference
from shared.api.core.pod import Pod, PodSpec
from shared.api.names import POD_SET_LABEL
from shared.api.review import User
from shared.kinds.kind_object import KindObject, KindPodSet
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import shortened
from shared.quota.model.rules.listing import SHOWN
from webhook.workloads.workload_side import PodSetSide, WorkloadSide

POD_UID: Final = "authentication.kubernetes.io/pod-uid"
"""Which pod a service account's token was made for, as the API server says."""


def is_sent_by(owner: OwnerReference, user: User) -> bool:
    """Return whether the owner is a pod, and the request was sent with its token."""
    is_pod = (owner.api_version, owner.kind) == ("v1", "Pod")
    return is_pod and bool(owner.uid) and user.extra.get(POD_UID) == [owner.uid]


def find_set(maker: Pod, made_for: KindObject, made: Metadata, present: Callable[[str, str], int]) -> KindPodSet | str:
    """Return the pod set that the new pod belongs to; as text, why it belongs to none.

    `made`: the metadata of the new pod. `present` (unit, pod set): how many pods of that set have not ended.
    """
    whose = f"{made_for.kind.kind} {shortened(made_for.metadata.name)}"
    if maker.is_gated or maker.metadata.is_deleting or made_for.metadata.uid != maker.metadata.unit:
        return f"pod {shortened(maker.metadata.name)} was not started for {whose}"
    if made_for.suspended or made_for.finished or made_for.skipped:
        return f"{whose} is not started"
    wanted, by = made.labels.get(POD_SET_LABEL, ""), maker.metadata.labels.get(POD_SET_LABEL, "")
    found = next((each for each in made_for.pod_sets if by and each.made_by == by and each.name == wanted), None)
    if found is None:
        return f"label {POD_SET_LABEL} names no pods of {whose} that pod {shortened(maker.metadata.name)} makes"
    if present(made_for.metadata.uid, found.name) >= found.count:
        return f"{whose} was started with {found.count} pods of set {found.name}, which have not ended"
    return found


def check_made_pod(made: WorkloadSide, at_most: PodSpec) -> Iterator[Violation]:
    """The pod requests no more than its set declares, and goes to the nodes of the flavor. Raises QuantityError."""
    (pod,) = made.pod_sets
    declared, requested = PodSetSide(at_most, 1, made.context).peak, pod.peak
    larger = [each for each, amount in sorted(requested.items()) if amount > declared.get(each, 0)]
    if larger:
        message = f"requests more {' and '.join(larger[:SHOWN])} than the object that it is made for declares for it"
        yield Violation("GrowthWhileRunning", made.name, "spec.containers", message)
    lacking = at_most.node_selector.items() - pod.spec.node_selector.items()
    if lacking:
        pairs = ", ".join(f"{shortened(key)}={shortened(value)}" for key, value in sorted(lacking)[:SHOWN])
        message = f"lacks {pairs}: it is made for an object that was started on nodes with these labels"
        yield Violation("ReservedLabel", made.name, "spec.nodeSelector", message)
