"""KAI's Queues as groups: quota is min, limit is max, overQuotaWeight is the weight. -1 means unlimited."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, lcm
from typing import Final

from cli.convert.conversion import Conversion, read_object
from cli.convert.draft import NamedParent, QuotaGroupDraft, cover_children, cover_parents, cover_requested, set_parents
from cli.convert.queued_workloads import Dialect, convert_workloads, workloads_of
from cli.convert.workload_labels import requested_resources
from cli.read.duplicates import check_unique
from cli.read.manifests import Manifest
from shared.api.json.reading import View, reader

API: Final = "scheduling.run.ai/"
DIALECT: Final = Dialect(
    queue_keys=("kai.scheduler/queue", "runai/queue"),
    prefixes=("kai.scheduler/",),
    schedulers=frozenset({"kai-scheduler"}),
)
_UNLIMITED: Final = -1
_UNITS: Final = {"cpu": ("cpu", 1), "memory": ("memory", 10**6), "gpu": ("nvidia.com/gpu", 1)}
"""The resource, and its base units in one of KAI's: millicores, megabytes, devices."""
_READ: Final = ("displayName", "parentQueue", "resources", "reclaimMinRuntime")


class _Amounts(View, frozen=True):
    quota: float = 0
    limit: float = 0
    """0: nothing above quota."""
    over_quota_weight: float = 0


class _Spec(View, frozen=True):
    parent_queue: str = ""
    resources: dict[str, _Amounts] = {}
    reclaim_min_runtime: str = ""


class _Queue(View, frozen=True):
    spec: _Spec = _Spec()


_read = reader(_Queue)


def convert_kai(manifests: Sequence[Manifest], made: Conversion) -> None:
    """Add the group of every Queue, and the workloads that name one."""
    queues = [each for each in manifests if each.kind == "Queue" and each.api_version.startswith(API)]
    check_unique(queues)
    specs = {each.name: read_object(_read, each).spec for each in queues}
    weights = [Fraction(str(each.over_quota_weight)) for spec in specs.values() for each in spec.resources.values()]
    scale = lcm(*(each.denominator for each in weights))
    named = []
    for manifest in queues:
        spec = specs[manifest.name]
        draft = made.add_group(manifest, manifest.name, "queue")
        named.append(NamedParent(draft, manifest.name, spec.parent_queue))
        for resource, amounts in spec.resources.items():
            _set_amounts(draft, manifest, resource, amounts, scale, made)
        if spec.reclaim_min_runtime:
            draft.spec["reclaim"] = {"exemptAfterStart": spec.reclaim_min_runtime}
        made.note_left_out(manifest, _READ)
    groups = set_parents(named, ("",))
    for draft in groups.values():
        draft.is_parent = any(other.parent == draft.name for other in groups.values())
    if groups:
        cover_requested(groups, requested_resources(manifests))
    cover_children(groups, additive=False)
    cover_parents(groups)
    by_source: Mapping[str, str] = {each.source: each.draft.name for each in named}
    convert_workloads(DIALECT, workloads_of(DIALECT, manifests), by_source, None, made)


def _set_amounts(
    draft: QuotaGroupDraft, manifest: Manifest, name: str, amounts: _Amounts, scale: int, made: Conversion
) -> None:
    place = f"spec.resources.{name}"
    if name not in _UNITS:
        made.note(manifest, place, "has no counterpart and is left out")
        return
    resource, unit = _UNITS[name]
    if amounts.quota == _UNLIMITED:
        text = "is unlimited: a parent promises what its children have, and a leaf nothing without a number"
        made.note(manifest, f"{place}.quota", text)
        return
    draft.set("min", {resource: _whole(manifest, f"{place}.quota", amounts.quota * unit, made)})
    if amounts.limit != _UNLIMITED:
        most = max(amounts.limit, amounts.quota) * unit
        draft.set("max", {resource: _whole(manifest, f"{place}.limit", most, made)})
    weight = int(Fraction(str(amounts.over_quota_weight)) * scale)
    draft.set("weight", {resource: weight * 1000 if resource == "cpu" else weight})


def _whole(manifest: Manifest, place: str, amount: float, made: Conversion) -> int:
    if amount != ceil(amount):
        made.note(manifest, place, f"{amount:g} is a fraction of a device, and becomes {ceil(amount)}")
    return ceil(amount)
