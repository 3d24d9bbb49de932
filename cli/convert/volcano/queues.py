"""Volcano's Queues as groups: deserved is min, guarantee is the part of it that is never lent, capability is max.

A resource that a queue does not name is bounded by its parent only. A queue says in its status that it is closed.
"""

from collections.abc import Sequence
from typing import Final

from cli.convert.conversion import Conversion, read_amounts, read_object
from cli.convert.draft import (
    NamedParent,
    QuotaGroupDraft,
    cover_children,
    cover_parents,
    cover_requested,
    set_parents,
)
from cli.convert.volcano.hierarchy import Hierarchy, hierarchy_of
from cli.convert.volcano.workloads import DEFAULT_QUEUE, VolcanoWorkloads
from cli.convert.weights import Weights
from cli.convert.workload_labels import requested_resources
from cli.read.duplicates import check_unique
from cli.read.manifests import Manifest
from shared.api.json.reading import ResourceList, View, reader
from shared.api.names import PREEMPTIBLE_LABEL
from shared.quota.model.tree import StopPolicy

API: Final = "scheduling.volcano.sh/"
_OWN_APIS: Final = (API, "flow.volcano.sh/", "topology.volcano.sh/", "bus.volcano.sh/", "nodeinfo.volcano.sh/")
_ROOT: Final = "root"
_CLOSED: Final = ("Closed", "Closing")
_READ: Final = ("parent", "deserved", "guarantee", "capability", "weight", "reclaimable")


class _Guarantee(View, frozen=True):
    resource: ResourceList = {}


class _Spec(View, frozen=True):
    parent: str = ""
    deserved: ResourceList = {}
    guarantee: _Guarantee = _Guarantee()
    capability: ResourceList = {}
    weight: int | None = None
    reclaimable: bool = True


class _Status(View, frozen=True):
    state: str = ""


class _Queue(View, frozen=True):
    spec: _Spec = _Spec()
    status: _Status = _Status()


_read = reader(_Queue)


def convert_queues(manifests: Sequence[Manifest], made: Conversion) -> None:
    """Add the group of every Queue."""
    queues = [each for each in manifests if each.kind == "Queue" and each.api_version.startswith(API)]
    check_unique(queues)
    workloads = VolcanoWorkloads(manifests)
    named: list[NamedParent] = []
    weights = Weights()
    hierarchy = Hierarchy(made, weights)
    for manifest in queues:
        if manifest.name == _ROOT:
            made.note(manifest, "", "is built in: give the group root a max, if it needs one")
            continue
        queue = read_object(_read, manifest)
        spec = queue.spec
        draft = made.add_group(manifest, manifest.name, "queue")
        _set_limits(draft, manifest, spec, made)
        if hierarchy_of(manifest) and not spec.parent:
            named += hierarchy.add(manifest, draft)
        else:
            named.append(NamedParent(draft, manifest.name, spec.parent))
            if not spec.deserved:
                weights.add(manifest, draft, spec.weight)
        _set_policies(draft, manifest, queue, made)
        made.note_left_out(manifest, _READ)
    group_of = {each.source: each.draft.name for each in named}
    users = workloads.users_of_default()
    if users and DEFAULT_QUEUE not in group_of:  # it is there in every cluster of Volcano
        draft = made.add_group(users[0], DEFAULT_QUEUE, "queue")
        named.append(NamedParent(draft, DEFAULT_QUEUE, ""))
        group_of[DEFAULT_QUEUE] = draft.name
    groups = set_parents(named, ("", _ROOT))
    for draft in groups.values():
        draft.is_parent = any(other.parent == draft.name for other in groups.values())
    cover_requested(groups, requested_resources(manifests))
    cover_children(groups, additive=False)
    cover_parents(groups)
    weights.write(groups)
    workloads.convert(group_of, made)
    for manifest in manifests:
        if manifest.api_version.startswith(_OWN_APIS) and manifest.kind != "Queue":
            made.note(manifest, "", "has no counterpart and is left out")


def _set_limits(draft: QuotaGroupDraft, manifest: Manifest, spec: _Spec, made: Conversion) -> None:
    deserved = read_amounts(manifest, "spec.deserved", spec.deserved)
    guaranteed = read_amounts(manifest, "spec.guarantee.resource", spec.guarantee.resource)
    low = {
        resource: max(deserved.get(resource, 0), guaranteed.get(resource, 0)) for resource in {**deserved, **guaranteed}
    }
    draft.set("min", low)
    draft.set("max", read_amounts(manifest, "spec.capability", spec.capability))
    draft.set(
        "lendingLimit", {resource: low[resource] - amount for resource, amount in guaranteed.items() if resource in low}
    )


def _set_policies(draft: QuotaGroupDraft, manifest: Manifest, queue: _Queue, made: Conversion) -> None:
    state = queue.status.state
    if state in _CLOSED:
        draft.spec["stopPolicy"] = StopPolicy.CLOSE.value
        text = f"is {state}: the group takes no new workloads, but starts those that wait; or write Hold"
        made.note(manifest, "status.state", text)
    if not queue.spec.reclaimable:
        text = f'label its workloads {PREEMPTIBLE_LABEL}: "false"; they then start within min of {draft.name} only'
        made.note(manifest, "spec.reclaimable", text)
