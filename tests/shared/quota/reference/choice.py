"""Which flavors work may take, from the text: selectors and affinity on the flavor's own labels, taints tolerated."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from shared.api.core.placement import Placement, Requirement, Taint, Toleration
from shared.quota.model.flavor import Flavor
from shared.quota.model.settings import QuotaSettings, Uncovered
from shared.quota.model.tree import Entry
from shared.quota.model.workload import PodSet, Workload


def is_uncovered(work: Workload, entries: Sequence[Entry], settings: QuotaSettings) -> bool:
    """Whether the work asks for a resource that no entry covers, and that is not to be ignored."""
    covered = frozenset[str]().union(*(entry.covered for entry in entries))
    return settings.uncovered is Uncovered.DENY and not set(work.request) <= covered


def parts(work: Workload) -> tuple[PodSet, ...]:
    """The work's pod sets in order; of work without any, all its pods."""
    return work.pod_sets or (PodSet("main", work.request, work.pods, work.placement),)


def codependent_sets(part: PodSet, entries: Sequence[Entry]) -> list[frozenset[str]]:
    """A pod set's resources, grouped by the sets that must come from one flavor; in order of the entries."""
    found: list[frozenset[str]] = []
    for entry in entries:
        wanted = entry.covered & set(part.request)
        if wanted and wanted not in found:
            found.append(wanted)
    return found


def choices(
    work: Workload, part: PodSet, wanted: frozenset[str], entries: Sequence[Entry], flavors: Mapping[str, Flavor]
) -> list[str]:
    """Flavors of the entries that cover `wanted`, in order, of those that the pod set of the work can take."""
    offered = [entry.flavor for entry in entries if wanted <= entry.covered and entry.flavor in flavors]
    if work.only_flavor in offered:
        offered = [work.only_flavor]
    elif work.only_flavor is not None and not any(entry.flavor == work.only_flavor for entry in entries):
        offered = []
    return [flavor for flavor in offered if is_eligible(work, part.placement, flavors[flavor])]


def fits_a_node(part: PodSet, compared: Iterable[str], offers: Iterable[Mapping[str, int]]) -> bool:
    """Whether one of the set's equal pods fits one of these nodes by all compared resources; unequal ones always."""
    pod = {name: Fraction(part.request[name], part.pods) for name in compared} if part.pods else {}
    return not pod or any(all(amount <= offer.get(name, 0) for name, amount in pod.items()) for offer in offers)


def is_eligible(work: Workload, placement: Placement, flavor: Flavor) -> bool:
    """Whether pods placed so could run on that flavor's nodes as far as the flavor's own labels and taints tell."""
    if flavor.name in work.blocked_flavors:
        return False
    tolerations = (*placement.tolerations, *flavor.tolerations)
    return _labels_agree(placement, flavor) and all(
        any(_tolerates(toleration, taint) for toleration in tolerations)
        for taint in flavor.node_taints
        if taint.effect in ("NoSchedule", "NoExecute")
    )


def _labels_agree(placement: Placement, flavor: Flavor) -> bool:
    for key, value in placement.node_selector.items():
        if key in flavor.node_labels and flavor.node_labels[key] != value:
            return False
    if placement.affinity is None:
        return True
    return any(  # a term without any requirement on labels has one on the node's fields
        all(_holds(requirement, flavor.node_labels) for requirement in term if requirement.key in flavor.node_labels)
        for term in placement.affinity
    )


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels[requirement.key]
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return True
        case "DoesNotExist":
            return False
        case "Gt" | "Lt":
            return _compares(requirement, value)
    return False


def _compares(requirement: Requirement, value: str) -> bool:
    try:
        bound, own = int(requirement.values[0]), int(value)
    except (IndexError, ValueError):
        return False
    return own > bound if requirement.operator == "Gt" else own < bound


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == taint.value
