"""Keeps records of Jobs and pods small, whatever their owners write: only what decisions need, and no huge placement.

An object may have 1.5 MB. Kept whole, 150 such Jobs would fill the process' memory, and each decision that compares
their placements would delay all other tenants by seconds. Pure.
"""

from collections.abc import Collection
from sys import intern
from typing import Final, TypeVar

import msgspec

from shared.api.core.metadata import Metadata, OwnerReference
from shared.api.core.pod import (
    Affinity,
    Container,
    NodeAffinity,
    NodeSelector,
    PodCondition,
    PodSpec,
    PodStatus,
    ResourceNeeds,
)
from shared.api.names import HOLD_GATE_PREFIX, OWNER_ANNOTATIONS, PREFIX
from shared.api.owner_settings import MAX_TEXT
from shared.cluster.state.observed.interning import shared_labels
from shared.quota.model.rules.workloads.object_size import MAX_NAMED, named_resources

T = TypeVar("T")
MAX_MESSAGE: Final = 256
"""How many characters are kept of the reason why a pod has no node."""
MAX_PLACEMENT: Final = 1000
"""The maximum of node labels, tolerations, terms and values of one pod together."""
_NOWHERE: Final = Affinity(NodeAffinity(NodeSelector([])))
"""Required terms that match no node: no flavor is eligible."""

_NO_ANNOTATIONS: Final[dict[str, str]] = {}
_NO_OWNERS: Final[list[OwnerReference]] = []


_LARGE: Final = 128 * 1024
"""The size of an object in bytes above which its affinity is checked before decoding."""
_LARGEST_AFFINITY: Final = 64 * 1024
_NOWHERE_JSON: Final = b'{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}}'


class _Spec(msgspec.Struct):
    affinity: msgspec.Raw = msgspec.Raw(b"")


class _Template(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _JobSpec(msgspec.Struct):
    template: _Template = msgspec.field(default_factory=_Template)


class _Job(msgspec.Struct):
    spec: _JobSpec = msgspec.field(default_factory=_JobSpec)


_find_in_job = msgspec.json.Decoder(_Job).decode
_find_in_pod = msgspec.json.Decoder(_Template).decode


def cut_job_affinity(raw: bytes) -> bytes:
    """Return a Job as JSON; an affinity too large to be read is replaced by one that matches no node, undecoded.

    Decoding 1.5 MB of affinity takes 27 ms, finding it 2 ms.
    """
    return raw if len(raw) < _LARGE else _cut(raw, bytes(_find_in_job(raw).spec.template.spec.affinity))


def cut_pod_affinity(raw: bytes) -> bytes:
    """Return the same for a pod."""
    return raw if len(raw) < _LARGE else _cut(raw, bytes(_find_in_pod(raw).spec.affinity))


def _cut(raw: bytes, affinity: bytes) -> bytes:
    return raw if len(affinity) < _LARGEST_AFFINITY else raw.replace(affinity, _NOWHERE_JSON, 1)


def trim_metadata(metadata: Metadata) -> Metadata:
    """Keep Quotree's own labels and annotations, and one other of each: patches test whether there are any.

    Objects of one namespace, and those with the same labels, share these texts: few of 100,000 Jobs differ in them.
    """
    labels = shared_labels(tuple(_own(metadata.labels).items()))
    annotations = _own(metadata.annotations) or _NO_ANNOTATIONS
    owners = [each for each in metadata.owner_references if each.controller] or _NO_OWNERS
    namespace = intern(metadata.namespace)
    return msgspec.structs.replace(
        metadata, namespace=namespace, labels=labels, annotations=annotations, owner_references=owners
    )


_READ = (PREFIX, HOLD_GATE_PREFIX)


def _own(texts: dict[str, str]) -> dict[str, str]:
    own = {name: text for name, text in texts.items() if name.startswith(_READ)}
    for name in OWNER_ANNOTATIONS & own.keys():
        own[name] = own[name][: MAX_TEXT + 1]
    if len(own) == len(texts):
        return texts if own == texts else own
    other = next(name for name in texts if not name.startswith(_READ))
    return {**own, other[:MAX_PLACEMENT]: ""}


def trim_conditions(status: PodStatus) -> PodStatus:
    """Return the status without messages, except why the pod has no node."""
    if not any(each.message for each in status.conditions):
        return status
    return msgspec.structs.replace(status, conditions=[_trim_condition(each) for each in status.conditions])


def _trim_condition(condition: PodCondition) -> PodCondition:
    kept = condition.message[:MAX_MESSAGE] if condition.reason == "Unschedulable" else ""
    return msgspec.structs.replace(condition, message=kept)


def trim_placement(spec: PodSpec) -> PodSpec:
    """Return the spec with its placement or, if that or the number of its resources is too large, with one that matches
    no flavor; of too many resources, only some are kept.
    """
    spec = _trim_resources(spec)
    if placement_size(spec) <= MAX_PLACEMENT:
        return spec
    return msgspec.structs.replace(spec, node_selector={}, affinity=_NOWHERE, tolerations=[])


def _trim_resources(spec: PodSpec) -> PodSpec:
    named = named_resources(spec)
    if len(named) <= MAX_NAMED:
        return spec
    # Those of Kubernetes itself first, such as cpu: what the pod uses of them counts also if it runs already.
    kept = frozenset(sorted(named, key=lambda name: ("/" in name, name))[:MAX_NAMED])
    return msgspec.structs.replace(
        spec,
        containers=[_with_only(each, kept) for each in spec.containers],
        init_containers=[_with_only(each, kept) for each in spec.init_containers],
        overhead=_only(spec.overhead, kept),
        resources=None if spec.resources is None else _needs_with_only(spec.resources, kept),
        affinity=_NOWHERE,
    )


def _with_only(container: Container, kept: Collection[str]) -> Container:
    return msgspec.structs.replace(container, resources=_needs_with_only(container.resources, kept))


def _needs_with_only(needs: ResourceNeeds, kept: Collection[str]) -> ResourceNeeds:
    return msgspec.structs.replace(needs, requests=_only(needs.requests, kept), limits=_only(needs.limits, kept))


def _only(amounts: dict[str, T], kept: Collection[str]) -> dict[str, T]:
    return {name: amount for name, amount in amounts.items() if name in kept}


def placement_size(spec: PodSpec) -> int:
    """Return how many node labels, tolerations, terms and values the spec has."""
    size = len(spec.node_selector) + len(spec.tolerations)
    node_affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if node_affinity is None or node_affinity.required is None:
        return size
    for term in node_affinity.required.node_selector_terms:
        size += 1
        for each in (*term.match_expressions, *term.match_fields):
            size += 1 + len(each.values)
    return size
