"""Reads manifests into typed objects, kind by kind, with their sources."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, Final, TypeVar

from cli.read.duplicates import describe_duplicate
from cli.read.manifests import CLUSTER, Manifest
from shared.api.core.job import Job, read_job
from shared.api.core.limitrange import LimitRange, read_limit_range
from shared.api.core.namespace import Namespace, read_namespace
from shared.api.core.node import NodeObject, allocatable, read_node
from shared.api.core.pod import Pod, read_pod_with_claims
from shared.api.core.priority import PriorityClass, read_priority_class
from shared.api.core.resource_claim import (
    RESOURCE_API,
    ClaimDevices,
    read_resource_claim,
    read_resource_claim_template,
)
from shared.api.core.runtimeclass import RuntimeClass, read_runtime_class
from shared.api.json.reading import Unreadable
from shared.api.json.unread import BAD_FIELD
from shared.api.quotagroup import QuotaGroupStatus, read_quota_group
from shared.kinds.kind import Kinds
from shared.kinds.kind_object import KindObject
from shared.kinds.reading import read_kind_object
from shared.quota.model.flavor import Flavor
from shared.quota.model.read.groups import read_flavor_manifest, read_group_manifest
from shared.quota.model.rules import Violation
from shared.quota.model.tree import Group
from shared.resources import QuantityError

T = TypeVar("T")
DUPLICATE: Final = "DuplicateObject"
"""Two manifests of one name; kubectl silently applies the later one over the first."""


@dataclass
class ContextObjects:
    """The objects that decide, besides a workload's own, what it requests and what comes first."""

    namespaces: list[Namespace] = field(default_factory=list)
    priority_classes: list[PriorityClass] = field(default_factory=list)
    runtime_classes: list[RuntimeClass] = field(default_factory=list)
    limit_ranges: list[LimitRange] = field(default_factory=list)
    claims: list[ClaimDevices] = field(default_factory=list)
    claim_templates: list[ClaimDevices] = field(default_factory=list)


@dataclass
class ManifestObjects:
    """All objects that were read, in the order of the files. `problems`: unreadable objects."""

    groups: list[Group] = field(default_factory=list)
    statuses: dict[str, QuotaGroupStatus] = field(default_factory=dict)
    """Of groups that come from a cluster, by name."""
    flavors: list[Flavor] = field(default_factory=list)
    nodes: list[NodeObject] = field(default_factory=list)
    context: ContextObjects = field(default_factory=ContextObjects)
    jobs: list[Job] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    kind_objects: list[KindObject] = field(default_factory=list)
    """Of governed kinds."""
    skipped: list[str] = field(default_factory=list)
    problems: list[Violation] = field(default_factory=list)
    sources: dict[str, Manifest] = field(default_factory=dict)
    """By the name that violations use: Kind/name, or Kind/namespace/name."""

    @property
    def judged(self) -> tuple[Sequence[object], ...]:
        """The objects that rules check, kind by kind."""
        return (self.groups, self.flavors, self.jobs, self.pods, self.kind_objects)


def _read_node(body: Any) -> NodeObject:
    """Read a node. Raises Unreadable also for a quantity that is none, which a cluster never sends."""
    node = read_node(body)
    try:
        allocatable(node)
    except QuantityError as error:
        raise Unreadable(f"status: {error}") from None
    return node


READ_KINDS: Final[Mapping[tuple[str, str], tuple[str, Callable[[Any], Any]]]] = {
    ("quotree.dev/v1alpha1", "QuotaGroup"): ("groups", read_group_manifest),
    ("quotree.dev/v1alpha1", "ResourceFlavor"): ("flavors", read_flavor_manifest),
    ("v1", "Node"): ("nodes", _read_node),
    ("v1", "Namespace"): ("context.namespaces", read_namespace),
    ("v1", "LimitRange"): ("context.limit_ranges", read_limit_range),
    ("v1", "Pod"): ("pods", read_pod_with_claims),
    ("batch/v1", "Job"): ("jobs", read_job),
    ("scheduling.k8s.io/v1", "PriorityClass"): ("context.priority_classes", read_priority_class),
    ("node.k8s.io/v1", "RuntimeClass"): ("context.runtime_classes", read_runtime_class),
    (RESOURCE_API, "ResourceClaim"): ("context.claims", read_resource_claim),
    (RESOURCE_API, "ResourceClaimTemplate"): ("context.claim_templates", read_resource_claim_template),
}
"""API version and kind of all objects that are read, beside those of governed kinds -> where they go, their reader."""
CLUSTER_WIDE: Final = frozenset({"QuotaGroup", "ResourceFlavor", "Node", "Namespace", "PriorityClass", "RuntimeClass"})
"""Kinds whose objects are in no namespace."""


def sort_objects(
    manifests: Iterable[Manifest], *, kinds: Kinds | None = None, later_wins: bool = False
) -> ManifestObjects:
    """Read each manifest by its kind; kinds that do not matter to quota are listed as skipped.

    `kinds`: those that are governed beside Jobs and pods; None: all that are shipped.

    `later_wins`: of two objects of one name the later one counts, as when files override a live cluster; otherwise
    that is a violation.
    """
    found = ManifestObjects()
    chosen: dict[str, tuple[str, Any]] = {}
    for manifest in manifests:
        kind = READ_KINDS.get((manifest.api_version, manifest.kind)) or _governed(manifest, kinds)
        if isinstance(kind, str):
            found.skipped.append(
                f"{manifest.file}:{manifest.line}: skipped {manifest.api_version} {manifest.label}{kind}"
            )
            continue
        name = object_name(manifest)
        if name in chosen and not later_wins:
            message = describe_duplicate(found.sources[name], manifest)
            found.problems.append(Violation(DUPLICATE, name, "metadata.name", message))
            continue
        try:
            chosen[name] = kind[0], kind[1](manifest.body)
            if kind[0] == "groups" and manifest.file == CLUSTER:
                found.statuses[manifest.name] = read_quota_group(manifest.body).status
        except Unreadable as error:
            found.problems.append(Violation(BAD_FIELD, name, "", f"cannot be read: {error}"))
        found.sources[name] = manifest
    for place, item in chosen.values():
        attrgetter(place)(found).append(item)
    return found


def _governed(manifest: Manifest, kinds: Kinds | None) -> tuple[str, Callable[[Any], Any]] | str:
    """Return the reader of a governed kind's object; for other kinds, a note on why they are skipped."""
    from shared.kinds.presets import all_presets

    kind = manifest.governed or (kinds or all_presets()).find(manifest.api_version, manifest.kind)
    if kind is None:
        return ""
    if kind.through:
        return f": the {kind.through} that its operator makes is governed in its place"
    return "kind_objects", partial(read_kind_object, kind)


def object_name(manifest: Manifest) -> str:
    """Return the name that violations use for this object."""
    if manifest.kind not in CLUSTER_WIDE:
        return f"{manifest.kind}/{manifest.namespace or 'default'}/{manifest.name}"
    return f"{manifest.kind}/{manifest.name}"
