"""Volcano's Queues as groups: deserved is min, guarantee is the part of it that is never lent, capability is max.

A resource that a queue does not name is bounded by its parent only. A queue says in its status that it is closed.
"""

from collections.abc import Sequence
from typing import Final

from cli.convert.conversion import Conversion, read_amounts, read_object
from cli.convert.draft import NamedParent, QuotaGroupDraft, cover_children, cover_parents, set_parents
from cli.convert.weights import Weights
from cli.read.duplicates import check_unique
from cli.read.manifests import Manifest
from shared.api.names import PREEMPTIBLE_LABEL
from shared.api.reading import ResourceList, View, reader
from shared.quota.model.tree import StopPolicy

API: Final = "scheduling.volcano.sh/"
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
    named: list[NamedParent] = []
    weights = Weights()
    for manifest in queues:
        if manifest.name == _ROOT:
            made.note(manifest, "", "is built in: give the group root a max, if it needs one")
            continue
        queue = read_object(_read, manifest)
        spec = queue.spec
        draft = made.add_group(manifest, manifest.name, "queue")
        named.append(NamedParent(draft, manifest.name, spec.parent))
        _set_limits(draft, manifest, spec, made)
        if not spec.deserved:
            weights.add(manifest, draft, spec.weight)
        _set_policies(draft, manifest, queue, made)
        made.note_left_out(manifest, _READ)
    groups = set_parents(named, ("", _ROOT))
    for draft in groups.values():
        draft.is_parent = any(other.parent == draft.name for other in groups.values())
    cover_children(groups, additive=False)
    cover_parents(groups)
    weights.write(groups)
    made.note_unnamed(groups.values())


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
