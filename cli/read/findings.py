"""Applies the rules to a set of manifests, and locates each finding in its file."""

from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from cli.read.objects import ManifestObjects
from cli.read.workloads import SubmittedWorkloads, read_tree
from shared.quota.measure.inputs.workload_set import amounts_in
from shared.quota.measure.static.capacity import Capacity
from shared.quota.model import rules
from shared.quota.model.counts.entries import with_counts
from shared.quota.model.in_force import tree_in_force
from shared.quota.model.node import LargestNodes
from shared.quota.model.rules import Context, Findings, Violation
from shared.quota.model.rules.groups.numbers.percents import with_amounts
from shared.quota.model.rules.groups.selectors import warn_open_groups
from shared.quota.model.rules.groups.timed import ended
from shared.quota.model.rules.workloads.new_workload import check_new_workload
from shared.quota.model.rules.workloads.submitted_workload import WorkloadContext
from shared.quota.model.settings import CapacitySource, QuotaSettings
from shared.quota.model.tree import Tree
from shared.quota.model.workload import Workload
from shared.resources import Amount, FlavorResource

UNREADABLE_WORKLOAD = "UnreadableWorkload"
"""An unreadable field of a workload; the message says what is used instead."""


def find(
    objects: ManifestObjects,
    workloads: SubmittedWorkloads,
    settings: QuotaSettings,
    capacity: Capacity | None,
    nodes: LargestNodes,
    *,
    now: datetime,
    until: datetime | None = None,
) -> Findings:
    """Apply every rule of the admission webhook to all objects together, independent of their order.

    `capacity` None: unknown, so that nothing is compared with it. `nodes`: the largest, where they are known. Trees are
    judged as they are in force at `now` and later; `until`: every moment until then is, at the latest.
    """
    context = replace(context_of(objects, workloads, settings, capacity), now=now)
    tree = read_tree(objects, workloads)
    found = rules.check_tree_over_time(tree, context, until)
    in_force = with_amounts(with_counts(tree_in_force(tree, now)), context)
    review = WorkloadContext(in_force, context.flavors, capacity, settings, nodes=nodes)
    for submitted in workloads.submitted:
        found += check_new_workload(submitted, review)
    unreadable = tuple(Violation(UNREADABLE_WORKLOAD, name, "", problem) for name, problem in workloads.problems)
    return Findings((*objects.problems, *workloads.refused)) + found + Findings((), unreadable)


def context_of(
    objects: ManifestObjects, workloads: SubmittedWorkloads, settings: QuotaSettings, capacity: Capacity | None
) -> Context:
    """Return what rules read beside the tree. `capacity` None: unknown."""
    return Context(
        flavors={flavor.name: flavor for flavor in objects.flavors},
        workloads=_by_group(workloads.workloads).__getitem__,
        max_depth=settings.max_depth,
        capacity=capacity,
        maxima=settings.maxima,
        counts_nodes=settings.capacity_source is CapacitySource.NODES,
        namespaces={each.metadata.name for each in objects.context.namespaces} or None,
        promised=settings.is_promised,
    )


def ended_overrides(objects: ManifestObjects, now: datetime) -> Findings:
    """Return what an admission webhook says of the overrides when the groups are created: they have not ended."""
    return Findings(tuple(each for group in objects.groups for each in ended(group, (), now)))


def warn_whole(objects: ManifestObjects, settings: QuotaSettings) -> Findings:
    """Return what an admission webhook says of no single edit: that workloads of any namespace may use a group."""
    return Findings(warnings=tuple(warn_open_groups(Tree.of(objects.groups))) if settings.open_groups else ())


class _ByGroup(dict[str, rules.GroupWorkloads]):
    def __missing__(self, group: str) -> rules.GroupWorkloads:
        return rules.NO_WORKLOADS


def _by_group(workloads: Iterable[Workload]) -> Mapping[str, rules.GroupWorkloads]:
    by_group: dict[str, list[Workload]] = {}
    for workload in workloads:
        by_group.setdefault(workload.group, []).append(workload)
    return _ByGroup({group: _sum_up(found) for group, found in by_group.items()})


def _sum_up(workloads: list[Workload]) -> rules.GroupWorkloads:
    running = [workload for workload in workloads if workload.admission is not None]
    non_preemptible: dict[FlavorResource, Amount] = {}
    for workload in running:
        if not workload.preemptible and workload.admission is not None:
            for key, amount in amounts_in(workload, workload.admission.flavors):
                non_preemptible[key] = non_preemptible.get(key, 0) + amount
    return rules.GroupWorkloads(
        pending=len(workloads) - len(running), running=len(running), non_preemptible=non_preemptible
    )


def finding_key(violation: Violation) -> tuple[str, str, str]:
    """Return what is the same of a finding before and after an edit: its rule, object and field."""
    return violation.rule, violation.object, violation.field


@dataclass(frozen=True, slots=True)
class Placed:
    """A finding and its location."""

    violation: Violation
    file: str
    line: int

    @property
    def where(self) -> str:
        """Return "file:line: " as a prefix of the message."""
        return f"{self.file}:{self.line}: "

    def as_data(self) -> dict[str, Any]:
        """Return the members of docs/specification.md §9.5, and the location."""
        return self.violation.as_data() | {"file": self.file, "line": self.line}


def place(violation: Violation, objects: ManifestObjects) -> Placed:
    """Find the line of the violation's field.

    A built-in object that is in no file, such as the group root, is found wrong because of those that are: the
    location is that of the first group, or else of the first object.
    """
    source = objects.sources.get(violation.object)
    if source is not None:
        return Placed(violation, source.file, source.line_of(violation.field))
    groups = [each for each in objects.sources.values() if each.kind == "QuotaGroup"]
    first = (groups or list(objects.sources.values()))[0]
    return Placed(violation, first.file, first.line)


def counted(things: Sized, word: str) -> str:
    """Return how many these are, in words: "1 violation", "2 violations"."""
    return f"{len(things)} {word}{'' if len(things) == 1 else 's'}"
