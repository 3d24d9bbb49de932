"""Whether a workload could start in an empty tree, and which group, flavor and resource prevent it.

`measure` is stricter: it also keeps other groups' guarantees free. What is refused here never fits there.

See docs/specification.md §4.7.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from shared.api.names import COUNTS, FALSE, FLAVOR_LABEL, PREEMPTIBLE_LABEL
from shared.quota.model.amounts.resolution import min_in
from shared.quota.model.counts.entries import counts_in
from shared.quota.model.counts.requests import counts_of
from shared.quota.model.devices.resources import on_nodes
from shared.quota.model.eligibility import codependent_sets, flavor_of_name, why_not_placed
from shared.quota.model.limits import NO_CAPS, Limits, caps_below, covered_keys, limits_of
from shared.quota.model.node import node_shortage, one_of
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.names import shortened
from shared.quota.model.rules.listing import SHOWN, listed
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload, WorkloadContext
from shared.quota.model.settings import Uncovered
from shared.quota.model.tree import ROOT, SYSTEM, Amounts, Group
from shared.resources import MAX_AMOUNT, Amount, FlavorResource, write_quantity

REQUEST_FIELD: Final = "spec"

NamedBounds = Mapping[FlavorResource, tuple[Amount, str]]


def find_misfits(workload: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """A ResourceNotCovered for what no entry covers; a NeverFits for each set of resources without a fitting flavor.

    It is a NoNodeFits where some flavor has the quota for it, and only the size of its nodes is in the way. Each pod
    set is judged by itself; then all together, with all that the flavors have.
    """
    group = context.tree.get(workload.group)
    if group is None or group.is_parent or workload.group == SYSTEM or not context.tree.reaches_root(workload.group):
        return
    found = dict.fromkeys(each for part in _counted_parts(workload, group) for each in _misfits(part, group, context))
    yield from found or (_too_much_together(workload, group, context) if workload.pod_sets else ())


def _counted_parts(workload: SubmittedWorkload, group: Group) -> Iterator[SubmittedWorkload]:
    """Yield what takes flavors of its own, the first of them with what the group counts of the whole."""
    first, *others = workload.parts
    counts = counts_of(sum(each.pods for each in workload.parts), counts_in(group))
    yield replace(first, request={**first.request, **counts})
    yield from others


def _misfits(workload: SubmittedWorkload, group: Group, context: WorkloadContext) -> Iterator[Violation]:
    covered = frozenset(resource for entry in group.quotas for resource in entry.covered)
    left = sorted(workload.request.keys() - covered)
    if left and context.settings.uncovered is Uncovered.DENY:
        has = ", ".join(sorted(covered)[:SHOWN]) or "nothing"
        message = (
            f"requests {', '.join(left[:SHOWN])}, of which group {workload.group} has no quota (it has {has}); "
            "it will never start: leave that out, or add it to the group's quotas"
        )
        yield workload.violation("ResourceNotCovered", REQUEST_FIELD, message)
    bounds = bounds_of(workload, context) if workload.request else {}
    for choice in codependent_sets(group.quotas):
        requested = {
            resource: workload.request[resource] for resource in sorted(choice.resources & workload.request.keys())
        }
        if not requested:
            continue
        compared = on_nodes((*requested, *left), context.settings.devices)
        pod = one_of(workload.request, workload.pods, compared) if workload.pods else {}
        refusals = list(_refusals(workload, context, choice.flavors, _Asked(requested, pod, bounds)))
        if len(refusals) == len(choice.flavors):
            texts = [f"flavor {shortened(each.flavor)}{each.text}" for each in refusals]
            message = f"will never start: {listed(texts, '; ')}"
            code = "NoNodeFits" if any(each.by_node for each in refusals) else "NeverFits"
            yield workload.violation(code, REQUEST_FIELD, message)


def _too_much_together(workload: SubmittedWorkload, group: Group, context: WorkloadContext) -> Iterator[Violation]:
    """Yield a NeverFits for each resource of which all pod sets request more than all flavors have."""
    bounds = bounds_of(workload, context)
    for choice in codependent_sets(group.quotas):
        for resource in sorted(choice.resources & workload.request.keys()):
            limits = [(name, *bounds[FlavorResource(name, resource)]) for name in choice.flavors]
            if workload.request[resource] > sum(bound for _, bound, _ in limits):
                wanted = write_quantity(resource, workload.request[resource])
                texts = [
                    f"flavor {shortened(name)}: {setter} {write_quantity(resource, bound)}"
                    for name, bound, setter in limits
                ]
                message = (
                    f"will never start: its pod sets together request {wanted} {resource}; "
                    f"{listed(texts, '; ')}; request less or raise that"
                )
                yield workload.violation("NeverFits", REQUEST_FIELD, message)


class _Asked(NamedTuple):
    """What is requested of one set of resources, what one pod requests of one node, and the most that there is."""

    amounts: Amounts
    pod: Amounts
    bounds: NamedBounds


class _Refusal(NamedTuple):
    """Why a flavor cannot serve; `by_node`: only the size of its nodes prevents it."""

    flavor: str
    text: str
    by_node: bool = False


def _refusals(
    workload: SubmittedWorkload,
    context: WorkloadContext,
    names: Iterable[str],
    asked: _Asked,
) -> Iterator[_Refusal]:
    """Yield a refusal for each flavor that cannot serve the set."""
    names = tuple(names)
    only = workload.labels.get(FLAVOR_LABEL)
    for name in names:
        if only in names and only != name:
            yield _Refusal(name, " is not the one requested")
            continue
        flavor = flavor_of_name(name, context.flavors)
        reason = "does not exist yet" if flavor is None else why_not_placed(workload.placement, flavor)
        if reason is None:
            reason = _too_much(name, asked.amounts, asked.bounds)
        if reason is not None:
            yield _Refusal(name, f": {reason}")
            continue
        short = node_shortage(asked.pod, context.nodes.get(name))
        if short is not None:
            yield _Refusal(name, f": {short}; let a pod request less, or add a larger node", by_node=True)


def _too_much(flavor: str, requested: Mapping[str, Amount], bounds: NamedBounds) -> str | None:
    """Return the tightest bound that the request breaks, with the group that sets it."""
    for resource, amount in requested.items():
        bound, setter = bounds[FlavorResource(flavor, resource)]
        if amount > bound:
            wanted, has = write_quantity(resource, amount), write_quantity(resource, bound)
            return f"it requests {wanted} {resource}, {setter} {has}; request less or raise that"
    return None


def bounds_of(workload: SubmittedWorkload, context: WorkloadContext) -> NamedBounds:
    """For every key its group covers: the most that this workload could ever get of it, and in words what limits it."""
    path = [context.tree[name] for name in context.tree.path(workload.group)]
    keys = tuple(covered_keys(path[0]))
    known = context.capacity
    capacity = {key: MAX_AMOUNT if known is None else known.get(key, _absent(key)) for key in keys}
    bounds = {key: (amount, "the cluster has") for key, amount in capacity.items()}
    caps = NO_CAPS
    for group in reversed(path):
        limits = limits_of(group, caps, capacity)
        for key in keys:
            ceiling = _ceiling(group, limits.get(key))
            if ceiling is not None and ceiling < bounds[key][0]:
                bounds[key] = (ceiling, f"group {group.name} may use at most")
        caps = caps_below(group, caps)
    if workload.labels.get(PREEMPTIBLE_LABEL) == FALSE:
        for key in keys:
            promised = _min(path[0], key)
            if promised is not None and promised < bounds[key][0]:
                bounds[key] = (promised, f"it is not preemptible and min of group {workload.group} is")
    return bounds


def _absent(key: FlavorResource) -> Amount:
    """Return the capacity of what the status of root does not have: of a count that a group just named it will."""
    return MAX_AMOUNT if key.flavor == COUNTS else 0


def _ceiling(group: Group, limits: Limits | None) -> Amount | None:
    """Return the group's ceiling; None where root says nothing, 0 where another group does not cover the key."""
    if limits is not None:
        return limits.ceiling
    return None if group.name == ROOT else 0


def _min(group: Group, key: FlavorResource) -> Amount | None:
    """Return the min; None where it is a percent of something unknown."""
    entry = group.entry(key.flavor)
    return 0 if entry is None else min_in(entry, key.resource)
