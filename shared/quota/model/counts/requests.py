"""What a workload requests of the counts that its group has: its pods, and 1 for itself.

See docs/specification.md §2.12.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from shared.api.names import COUNTED, COUNTS, POD_COUNT, WORKLOAD_COUNT
from shared.quota.model.tree import Amounts
from shared.quota.model.workload import Admission, Workload


def with_counts_requested(workload: Workload, counts: Collection[str]) -> Workload:
    """Return the workload with these counts in its request, and no others; its first pod set requests all of them."""
    if not counts and not any(each in workload.request for each in COUNTED):
        return workload
    pods = sum(each.pods for each in workload.sets)
    own = counts_of(pods, counts, workloads=0 if workload.is_left_over else 1)
    sets = tuple(
        replace(each, request=_requested(each.request, {} if at else own)) for at, each in enumerate(workload.pod_sets)
    )
    admission = None if workload.admission is None else _admitted(workload.admission, workload.sets[0].name, own)
    return replace(workload, request=_requested(workload.request, own), pod_sets=sets, admission=admission)


def counts_of(pods: int, counts: Collection[str], *, workloads: int = 1) -> Amounts:
    """Return what so many pods of a workload request of the counts; of 0 workloads: they are what is left of one."""
    amounts = {POD_COUNT: pods, WORKLOAD_COUNT: workloads}
    return {name: amount for name, amount in amounts.items() if name in counts and amount}


def _requested(request: Amounts, counts: Amounts) -> Amounts:
    return {**{name: amount for name, amount in request.items() if name not in COUNTED}, **counts}


def _admitted(admission: Admission, first: str, counts: Amounts) -> Admission:
    """Return the admission with the flavor of these counts: what was started before a group named them has none."""
    own: Mapping[str, str] = admission.flavors.get(first, {})
    flavors = {**admission.flavors, first: {**own, **dict.fromkeys(counts, COUNTS)}}
    return admission if flavors == admission.flavors else replace(admission, flavors=flavors)
