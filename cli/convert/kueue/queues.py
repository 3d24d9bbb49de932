"""Kueue's ResourceFlavors, Cohorts and ClusterQueues as flavors and groups.

A parent of Quotree counts what its children have; a Cohort's own quota stands beside theirs. So min of a cohort's group
is its nominalQuota and the sum of its children's. Cohorts without a parent share nothing with each other, and neither
do queues without a cohort: their groups get borrowingLimit 0.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cli.convert.conversion import NAMESPACE_NAME, Conversion, read_object, read_one, select_namespaces
from cli.convert.draft import QuotaGroupDraft, cover_children, join_entries
from cli.convert.kueue.checks import LISTED, STRATEGY, AdmissionChecks
from cli.convert.kueue.flavors import convert_flavors
from cli.convert.kueue.local_queues import LocalQueues
from cli.convert.kueue.objects import (
    CLUSTER_QUEUE_FIELDS,
    COHORT_FIELDS,
    ClusterQueueSpec,
    ResourceGroupView,
    ResourceQuotaView,
    read_cluster_queue,
    read_cohort,
)
from cli.convert.kueue.workloads import convert_priority_classes, convert_workloads
from cli.convert.weights import Weights
from cli.read.duplicates import check_unique
from cli.read.manifests import Manifest
from shared.api.names import COUNTS, POD_COUNT
from shared.resources import Amount, FlavorResource

KUEUE: Final = "kueue.x-k8s.io/"
_CHECK: Final = "AdmissionCheck"
_CONVERTED: Final = frozenset(
    {"ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue", "WorkloadPriorityClass", _CHECK}
)
_NATIVE: Final = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES: Final = "hugepages-"
_MADE_BY_KUEUE: Final = "Workload"
_NO_NAMESPACE: Final = {"matchExpressions": [{"key": NAMESPACE_NAME, "operator": "DoesNotExist"}]}


def convert_kueue(manifests: Sequence[Manifest], made: Conversion) -> None:
    """Convert every object of Kueue, and the workloads that name its queues."""
    of_kind: dict[str, list[Manifest]] = {}
    for each in manifests:
        if each.api_version.startswith(KUEUE):
            of_kind.setdefault(each.kind, []).append(each)
    check_unique(each for found in of_kind.values() for each in found)
    names = convert_flavors(of_kind.get("ResourceFlavor", ()), made)
    checks = AdmissionChecks(of_kind.get(_CHECK, ()), made)
    tree = _CohortTree(made, names, checks)
    leaves = [tree.add_queue(each) for each in of_kind.get("ClusterQueue", ())]
    checks.note_unnamed()
    for manifest in of_kind.get("Cohort", ()):
        tree.add_cohort(manifest)
    tree.set_parents()
    tree.derive_limits()
    groups = {leaf.manifest.name: leaf.draft.name for leaf in leaves}
    queues = LocalQueues(of_kind.get("LocalQueue", ()), groups, made)
    for leaf in leaves:
        _admit_namespaces(leaf, queues.namespaces_of(leaf.manifest.name), made)
        weights = queues.weights_of(leaf.manifest.name)
        if weights and leaf.spec.compares_local_queues:
            leaf.draft.spec["queueing"] = {**leaf.draft.spec["queueing"], "weights": weights}
    classes = convert_priority_classes(of_kind.get("WorkloadPriorityClass", ()), made)
    convert_workloads(manifests, queues, classes, made)
    for kind in sorted(of_kind.keys() - _CONVERTED - {_MADE_BY_KUEUE}):
        for manifest in of_kind[kind]:
            made.note(manifest, "", "has no counterpart and is left out")


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A ClusterQueue and the group made of it."""

    manifest: Manifest
    spec: ClusterQueueSpec
    draft: QuotaGroupDraft


class _CohortTree:
    """The groups of ClusterQueues and Cohorts. A cohort that is only named exists in Kueue, so here too."""

    def __init__(self, made: Conversion, flavors: Mapping[str, str], checks: AdmissionChecks) -> None:
        self._made = made
        self._checks = checks
        self._flavors = flavors
        self._weights = Weights()
        self._cohorts: dict[str, QuotaGroupDraft] = {}
        self._wanted: list[tuple[QuotaGroupDraft, str, Manifest]] = []
        """A group, the cohort that it names, and where."""

    def add_queue(self, manifest: Manifest) -> _Leaf:
        """Add the leaf of a ClusterQueue. Raises Problem when it cannot be read."""
        spec = read_object(read_cluster_queue, manifest).spec
        draft = self._made.add_group(manifest, manifest.name, "queue")
        draft.spec |= _policies(spec)
        self._set_quotas(draft, manifest, spec.resource_groups)
        _note_policies(manifest, spec, self._made)
        self._made.note_left_out(manifest, CLUSTER_QUEUE_FIELDS | {LISTED, STRATEGY})
        self._checks.note_of_queue(manifest, draft.name)
        self._weights.add(manifest, draft, None if spec.fair_sharing is None else spec.fair_sharing.weight)
        self._wanted.append((draft, spec.cohort_name or spec.cohort, manifest))
        return _Leaf(manifest, spec, draft)

    def add_cohort(self, manifest: Manifest) -> None:
        """Add the parent of a Cohort. Raises Problem when it cannot be read."""
        spec = read_object(read_cohort, manifest).spec
        draft = self._add_parent(manifest, manifest.name)
        self._set_quotas(draft, manifest, spec.resource_groups)
        self._made.note_left_out(manifest, COHORT_FIELDS)
        self._weights.add(manifest, draft, None if spec.fair_sharing is None else spec.fair_sharing.weight)
        self._wanted.append((draft, spec.parent_name or spec.parent, manifest))

    def set_parents(self) -> None:
        """Put each group below the cohort that it names."""
        for draft, cohort, manifest in self._wanted:
            if cohort and cohort not in self._cohorts:
                self._add_parent(manifest, cohort)
            draft.parent = self._cohorts[cohort].name if cohort else None

    def derive_limits(self) -> None:
        """Set the limits that depend on the whole tree: min of parents, borrowingLimit of the first level, weights."""
        cover_children(self._made.groups, additive=True)
        join_entries(self._made.groups)
        for draft in self._made.groups.values():
            for key in list(draft.keys()):
                if draft.parent is None:
                    draft.set("borrowingLimit", {key.resource: 0}, key.flavor)
                lending = draft.amount("lendingLimit", key)
                if lending is not None and lending > (draft.amount("min", key) or 0):
                    del draft.entries[key.flavor]["lendingLimit"][key.resource]
        self._weights.write(self._made.groups)

    def _set_quotas(self, draft: QuotaGroupDraft, manifest: Manifest, groups: Iterable[ResourceGroupView]) -> None:
        for place, flavor, quota in _written_quotas(groups):
            reason = _why_uncounted(quota.name)
            if reason is not None:
                self._made.note(manifest, place, f"{quota.name} {reason}")
                continue
            limits = {
                "min": quota.nominal_quota,
                "borrowingLimit": quota.borrowing_limit,
                "lendingLimit": quota.lending_limit,
            }
            for limit, quantity in limits.items():
                if quantity is not None:
                    amount = read_one(manifest, place, quota.name, quantity)
                    others = _of_other_flavors(draft, limit, quota.name)
                    draft.set(limit, {quota.name: amount + others}, self._flavors.get(flavor, flavor))

    def _add_parent(self, manifest: Manifest, cohort: str) -> QuotaGroupDraft:
        draft = self._cohorts[cohort] = self._made.add_group(manifest, cohort, "cohort", is_parent=True)
        return draft


def _of_other_flavors(draft: QuotaGroupDraft, limit: str, resource: str) -> Amount:
    """Return the limit of pods so far: Kueue has one in each flavor, and pods have none here."""
    return draft.amount(limit, FlavorResource(COUNTS, resource)) or 0


def _why_uncounted(resource: str) -> str | None:
    """Return why there is no quota of a resource, or None for one that pods request."""
    if resource == POD_COUNT or "/" in resource or resource in _NATIVE or resource.startswith(_HUGE_PAGES):
        return None
    return (
        "is left out: no pod requests it by this name. Kueue computes it, by a transformation, or from devices "
        "(which Quotree counts by class, with resources.devices)"
    )


def _written_quotas(groups: Iterable[ResourceGroupView]) -> Iterator[tuple[str, str, ResourceQuotaView]]:
    """Yield (field, flavor, quota of one resource) in the order of the flavors."""
    for at, group in enumerate(groups):
        for number, flavor in enumerate(group.flavors):
            for quota in flavor.resources:
                yield f"spec.resourceGroups[{at}].flavors[{number}]", flavor.name, quota


def _policies(spec: ClusterQueueSpec) -> dict[str, object]:
    """Return the fields of a leaf that differ from Quotree's defaults."""
    found: dict[str, object] = {}
    queueing = {"strategy": "StrictFIFO"} if spec.queueing_strategy == "StrictFIFO" else {}
    queueing |= {"order": "Namespace"} if spec.compares_local_queues else {}
    if queueing:
        found["queueing"] = queueing
    if _has_choice(spec):
        tries = spec.flavor_fungibility
        found["flavorFungibility"] = {
            "whenCanBorrow": "TryNextFlavor" if tries.when_can_borrow == "TryNextFlavor" else "Borrow",
            "whenCanReclaim": "TryNextFlavor" if tries.when_can_preempt == "TryNextFlavor" else "Reclaim",
        }
    if spec.preemption.within_cluster_queue == "Never":
        found["preemption"] = {"withinGroup": "Never"}
    if spec.stop_policy in ("Hold", "HoldAndDrain"):
        found["stopPolicy"] = spec.stop_policy
    return found


def _has_choice(spec: ClusterQueueSpec) -> bool:
    """Return whether it has several flavors of a resource."""
    return any(len(group.flavors) > 1 for group in spec.resource_groups)


def _note_policies(manifest: Manifest, spec: ClusterQueueSpec, made: Conversion) -> None:
    preemption = spec.preemption
    if (spec.cohort or spec.cohort_name) and preemption.reclaim_within_cohort != "Any":
        text = f"is {preemption.reclaim_within_cohort}: Quotree always gives min back, whatever the priorities"
        made.note(manifest, "spec.preemption.reclaimWithinCohort", text)
    if preemption.borrow_within_cohort.policy != "Never":
        text = "has no counterpart: a workload that borrows evicts nothing in other groups"
        made.note(manifest, "spec.preemption.borrowWithinCohort", text)
    if preemption.within_cluster_queue == "LowerOrNewerEqualPriority":
        text = "becomes LowerPriority: equal priority is not preempted"
        made.note(manifest, "spec.preemption.withinClusterQueue", text)
    if _has_choice(spec) and spec.flavor_fungibility.preference != "BorrowingOverPreemption":
        text = (
            "has no counterpart: a flavor in which a workload starts by borrowing comes before one in which it evicts"
        )
        made.note(manifest, "spec.flavorFungibility.preference", text)


def _admit_namespaces(leaf: _Leaf, namespaces: set[str], made: Conversion) -> None:
    """Admit those of `namespaces`, which have a LocalQueue of this ClusterQueue, that its selector admits."""
    selector, place = leaf.spec.namespace_selector, "spec.namespaceSelector"
    if selector is None:
        made.note(leaf.manifest, place, "is absent and admits no namespace; the group admits none either")
        selector = _NO_NAMESPACE
    elif namespaces:
        selector = select_namespaces(namespaces, selector)
    else:
        made.note(leaf.manifest, place, "decides alone: no LocalQueue of this queue is in the files")
    leaf.draft.spec["namespaceSelector"] = selector
