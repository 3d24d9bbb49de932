"""Whether work could start if its group's whole tree were empty, and which group, flavor and resource say no.

Not a promise: `measure` also keeps other groups' guarantees free. What is refused here could never start there.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from shared.api.names import FALSE, FLAVOR_LABEL, PREEMPTIBLE_LABEL
from shared.quota.model.eligibility import codependent_sets, why_not_placed
from shared.quota.model.flavor import Flavor
from shared.quota.model.limits import NO_CAPS, Limits, caps_below, covered_keys, limits_of
from shared.quota.model.rules.findings import Violation
from shared.quota.model.rules.groups.hierarchy import SHOWN
from shared.quota.model.rules.groups.names import shortened
from shared.quota.model.rules.workloads.submitted_workload import SubmittedWorkload, WorkloadContext
from shared.quota.model.settings import Uncovered
from shared.quota.model.tree import DEFAULT_FLAVOR, ROOT, SYSTEM, Group
from shared.resources import MAX_AMOUNT, Amount, FlavorResource, write_quantity

REQUEST_FIELD: Final = "spec"

Bounds = Mapping[FlavorResource, tuple[Amount, str]]


def find_misfits(work: SubmittedWorkload, context: WorkloadContext) -> Iterator[Violation]:
    """A ResourceNotCovered for what no entry covers, a NeverFits for each set of resources without a fitting flavor."""
    group = context.tree.get(work.group)
    if group is None or group.is_parent or work.group == SYSTEM or not context.tree.reaches_root(work.group):
        return
    covered = frozenset(resource for entry in group.quotas for resource in entry.covered)
    left = sorted(work.request.keys() - covered)
    if left and context.settings.uncovered is Uncovered.DENY:
        has = ", ".join(sorted(covered)[:SHOWN]) or "nothing"
        message = (
            f"requests {', '.join(left[:SHOWN])}, of which group {work.group} has no quota (it has {has}); "
            "it will never start: leave that out, or add it to the group's quotas"
        )
        yield work.violation("ResourceNotCovered", REQUEST_FIELD, message)
    bounds = bounds_of(work, context) if work.request else {}
    for choice in codependent_sets(group.quotas):
        asked = {resource: work.request[resource] for resource in sorted(choice.resources & work.request.keys())}
        if not asked:
            continue
        refusals = list(_refusals(work, context, choice.flavors, asked, bounds))
        if len(refusals) == len(choice.flavors):
            more = f"; and {len(refusals) - SHOWN} more" if len(refusals) > SHOWN else ""
            message = f"will never start: {'; '.join(refusals[:SHOWN])}{more}"
            yield work.violation("NeverFits", REQUEST_FIELD, message)


def _refusals(
    work: SubmittedWorkload, context: WorkloadContext, names: Iterable[str], asked: Mapping[str, Amount], bounds: Bounds
) -> Iterator[str]:
    """One reason for each flavor that cannot serve it."""
    names = tuple(names)
    only = work.labels.get(FLAVOR_LABEL)
    for name in names:
        if only in names and only != name:
            yield f"flavor {name} is not the one asked for"
            continue
        flavor = context.flavors.get(name) or (Flavor(name) if name == DEFAULT_FLAVOR else None)
        reason = "does not exist yet" if flavor is None else why_not_placed(work.placement, flavor)
        if reason is None:
            reason = _too_much(name, asked, bounds)
        if reason is not None:
            yield f"flavor {shortened(name)}: {reason}"


def _too_much(flavor: str, asked: Mapping[str, Amount], bounds: Bounds) -> str | None:
    """The tightest bound that the request breaks, with the group that sets it."""
    for resource, amount in asked.items():
        bound, who = bounds[FlavorResource(flavor, resource)]
        if amount > bound:
            wanted, has = write_quantity(resource, amount), write_quantity(resource, bound)
            return f"it requests {wanted} {resource}, {who} {has}; ask for less or raise that"
    return None


def bounds_of(work: SubmittedWorkload, context: WorkloadContext) -> Bounds:
    """For every key its group covers: the most that this work could ever have of it, and in words who says so."""
    path = [context.tree[name] for name in context.tree.path(work.group)]
    keys = tuple(covered_keys(path[0]))
    known = context.capacity
    capacity = {key: MAX_AMOUNT if known is None else known.get(key, 0) for key in keys}
    bounds = {key: (amount, "the cluster has") for key, amount in capacity.items()}
    caps = NO_CAPS
    for group in reversed(path):
        limits = limits_of(group, caps, capacity)
        for key in keys:
            ceiling = _ceiling(group, limits.get(key))
            if ceiling is not None and ceiling < bounds[key][0]:
                bounds[key] = (ceiling, f"group {group.name} may use at most")
        caps = caps_below(group, caps)
    if work.labels.get(PREEMPTIBLE_LABEL) == FALSE:
        for key in keys:
            promised = _min(path[0], key)
            if promised < bounds[key][0]:
                bounds[key] = (promised, f"it is not preemptible and min of group {work.group} is")
    return bounds


def _ceiling(group: Group, limits: Limits | None) -> Amount | None:
    """The group's ceiling; None where root says nothing, 0 where another group does not cover the key."""
    if limits is not None:
        return limits.ceiling
    return None if group.name == ROOT else 0


def _min(group: Group, key: FlavorResource) -> Amount:
    entry = group.entry(key.flavor)
    return 0 if entry is None else entry.min.get(key.resource, 0)
