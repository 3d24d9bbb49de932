"""ElasticQuotas as groups: the trees of Koordinator, and the flat ones of scheduler-plugins.

A quota of scheduler-plugins is about the pods of its own namespace; one of Koordinator names its parent by a label, and
is used by pods that name it, or that are in a namespace that it lists.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from cli.convert.conversion import Conversion, read_amounts, read_object, select_namespaces, where
from cli.convert.draft import NamedParent, QuotaGroupDraft, cover_children, cover_requested, set_parents
from cli.convert.koordinator.profiles import convert_profiles, set_flavors
from cli.convert.koordinator.workloads import convert_users
from cli.convert.workload_labels import requested_resources
from cli.read.duplicates import check_unique
from cli.read.manifests import Manifest
from shared.api.core.metadata import Metadata
from shared.api.json.reading import ResourceList, View, reader
from shared.problems import Problem

T = TypeVar("T")
APIS: Final = ("scheduling.sigs.k8s.io/", "scheduling.x-k8s.io/")
_PREFIX: Final = "quota.scheduling.koordinator.sh/"
PARENT: Final = f"{_PREFIX}parent"
IS_PARENT: Final = f"{_PREFIX}is-parent"
LENDS: Final = f"{_PREFIX}allow-lent-resource"
NAMESPACES: Final = f"{_PREFIX}namespaces"
WEIGHT: Final = f"{_PREFIX}shared-weight"
_READ: Final = (PARENT, IS_PARENT, LENDS, NAMESPACES, WEIGHT)
_ROOT: Final = "koordinator-root-quota"
_BUILT_IN: Final = {_ROOT: "root", "koordinator-default-quota": "default", "koordinator-system-quota": "system"}


class _Spec(View, frozen=True):
    min: ResourceList = {}
    max: ResourceList = {}


class _ElasticQuota(View, frozen=True):
    metadata: Metadata = Metadata()
    spec: _Spec = _Spec()


_read = reader(_ElasticQuota)


def convert_elastic_quotas(manifests: Sequence[Manifest], made: Conversion) -> None:
    """Add the group of every ElasticQuota."""
    quotas = [each for each in manifests if each.kind == "ElasticQuota" and each.api_version.startswith(APIS)]
    check_unique(quotas)
    named: list[NamedParent] = []
    for manifest in quotas:
        if manifest.name in _BUILT_IN:
            made.note(manifest, "", f"is built in as {_BUILT_IN[manifest.name]}: edit that group, if it needs limits")
            continue
        quota = read_object(_read, manifest)
        draft = made.add_group(manifest, manifest.name, "quota")
        draft.set("min", read_amounts(manifest, "spec.min", quota.spec.min))
        draft.set("max", read_amounts(manifest, "spec.max", quota.spec.max))
        _read_labels(manifest, quota.metadata, draft, made)
        named.append(NamedParent(draft, manifest.name, quota.metadata.labels.get(PARENT, "")))
    flavors = convert_profiles(manifests, named, made)
    groups = set_parents(named, ("", "root", _ROOT))
    cover_requested(groups, requested_resources(manifests))
    set_flavors(groups, named, flavors)
    cover_children(groups, additive=False)
    convert_users(manifests, {**_BUILT_IN, **{each.source: each.draft.name for each in named}}, made)


def _read_labels(manifest: Manifest, metadata: Metadata, draft: QuotaGroupDraft, made: Conversion) -> None:
    """Read what Koordinator writes as labels and annotations, other than the parent."""
    labels, annotations = metadata.labels, metadata.annotations
    draft.is_parent = labels.get(IS_PARENT) == "true"
    if labels.get(LENDS) == "false":
        draft.spec["allowLending"] = False
    _set_weight(manifest, annotations.get(WEIGHT) or "{}", draft)
    namespaces = _read_json(manifest, NAMESPACES, annotations.get(NAMESPACES) or "[]", list[str])
    is_of_koordinator = any(key.startswith(_PREFIX) for key in (*labels, *annotations))
    if not is_of_koordinator:
        namespaces = [manifest.namespace or "default"]
    for namespace in namespaces:
        made.label_namespace(namespace, draft.name)
    if namespaces and not draft.is_parent:
        draft.spec["namespaceSelector"] = select_namespaces(namespaces)
    for place, written in (("labels", labels), ("annotations", annotations)):
        for key in sorted(written):
            if key.startswith(_PREFIX) and key not in _READ:
                made.note(manifest, f"metadata.{place}[{key}]", "has no counterpart and is left out")


def _set_weight(manifest: Manifest, written: str, draft: QuotaGroupDraft) -> None:
    """Set the weight of each resource: 0 where only others are named.

    Koordinator reads a weight in which nothing is above 0 as if it were absent, which is max.
    """
    quantities = _read_json(manifest, WEIGHT, written, dict[str, int | float | str])
    weight = read_amounts(manifest, f"metadata.annotations[{WEIGHT}]", quantities)
    if any(weight.values()):
        for key in list(draft.keys()):
            draft.set("weight", {key.resource: weight.get(key.resource, 0)})


def _read_json(manifest: Manifest, key: str, text: str, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        place = f"metadata.annotations[{key}]"
        raise Problem(f"{where(manifest, place)} cannot be read: {error}") from error
