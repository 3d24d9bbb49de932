"""How large a managed Job or pod can be: Quotree must be able to write its decisions on it, and to read it quickly.

Kubernetes bounds an object's annotations together (256 KiB) and the object itself (1.5 MiB). If its owner fills them,
an eviction could not be written. Placement is bounded by counts, because every flavor and node is compared with it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from shared.api.core.metadata import Metadata
from shared.api.core.pod import NodeSelectorTerm, PodSpec
from shared.api.names import is_own
from shared.quota.model.rules.findings import Violation

MAX_NAMED: Final = 64
"""The maximum of different resources, and of node labels, that one pod names; a group has no more resources."""


@dataclass(frozen=True, slots=True)
class ObjectSize:
    """What is bounded of an object. `total` and the maps are in bytes; Quotree's own annotations do not count."""

    total: int = 0
    annotations: int = 0
    labels: int = 0
    terms: int = 0
    requirements: int = 0
    tolerations: int = 0
    containers: int = 0
    claims: int = 0
    resources: int = 0
    selectors: int = 0


@dataclass(frozen=True, slots=True)
class _Limit:
    field: str
    most: int
    words: str
    fix: str


LIMITS: Final[Mapping[str, _Limit]] = {
    "total": _Limit("", 512 * 1024, "bytes", "move data into a ConfigMap or an image"),
    "annotations": _Limit("metadata.annotations", 192 * 1024, "bytes", "move data into a ConfigMap"),
    "labels": _Limit("metadata.labels", 32 * 1024, "bytes", "take labels out"),
    "terms": _Limit("spec.affinity", 64, "required node selector terms", "take terms out"),
    "requirements": _Limit("spec.affinity", 1024, "required expressions and values", "use a label that names the set"),
    "tolerations": _Limit("spec.tolerations", 256, "tolerations", "take tolerations out"),
    "containers": _Limit("spec.containers", 256, "containers", "take containers out"),
    "claims": _Limit("spec.resourceClaims", 256, "resource claims", "request several devices in one claim"),
    "resources": _Limit("spec.containers", MAX_NAMED, "different resources", "request fewer"),
    "selectors": _Limit("spec.nodeSelector", MAX_NAMED, "node labels", "use a label that names the nodes"),
}


def object_size(total: int, metadata: Metadata, spec: PodSpec) -> ObjectSize:
    """Measure an object of `total` bytes whose pods have this spec."""
    terms = _terms(spec)
    return ObjectSize(
        total,
        _bytes_of((name, text) for name, text in metadata.annotations.items() if not is_own(name)),
        _bytes_of(metadata.labels.items()),
        len(terms),
        sum(1 + len(each.values) for term in terms for each in (*term.match_expressions, *term.match_fields)),
        len(spec.tolerations),
        len(spec.containers) + len(spec.init_containers),
        len(spec.resource_claims),
        len(named_resources(spec)),
        len(spec.node_selector),
    )


def named_resources(spec: PodSpec) -> set[str]:
    """Return the resources that the pod or some container of it requests or limits, or that it adds as overhead."""
    found = set(spec.overhead)
    needs = [each.resources for each in (*spec.containers, *spec.init_containers)]
    for each in needs if spec.resources is None else (*needs, spec.resources):
        found.update(each.requests, each.limits)
    return found


def check_size(name: str, before: ObjectSize | None, after: ObjectSize) -> Iterator[Violation]:
    """Everything above its limit; of an object that exists, only what the edit makes larger."""
    for part, limit in LIMITS.items():
        size: int = getattr(after, part)
        if size > limit.most and (before is None or size > getattr(before, part)):
            message = f"has {size} {limit.words}, a managed workload has at most {limit.most}; {limit.fix}"
            yield Violation("ObjectTooLarge", name, limit.field, message)


def _terms(spec: PodSpec) -> list[NodeSelectorTerm]:
    node_affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if node_affinity is None or node_affinity.required is None:
        return []
    return node_affinity.required.node_selector_terms


def _bytes_of(texts: Iterable[tuple[str, str]]) -> int:
    return sum(len(name.encode("utf-8", "replace")) + len(text.encode("utf-8", "replace")) for name, text in texts)
