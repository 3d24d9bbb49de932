"""Where a pod may run, as its template says it: nodeSelector, required node affinity, tolerations."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shared.api.core.pod import PodSpec, TolerationView


@dataclass(frozen=True, slots=True)
class Taint:
    """A node's or flavor's taint."""

    key: str
    effect: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Toleration:
    """A pod's toleration. An empty key with Exists tolerates everything; an empty effect means every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """One matchExpressions entry: operator In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Placement:
    """Where pods can run: nodeSelector, required node affinity and tolerations.

    `affinity` is a disjunction of terms, each a conjunction of requirements; None: no affinity given.
    """

    node_selector: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    affinity: tuple[tuple[Requirement, ...], ...] | None = None
    tolerations: tuple[Toleration, ...] = ()


ANYWHERE = Placement()


def read_placement(spec: PodSpec) -> Placement:
    """Return where pods of `spec` may run.

    A term without requirements matches no node and is left out, as in Kubernetes.
    """
    if not spec.node_selector and spec.affinity is None and not spec.tolerations:
        return ANYWHERE
    return Placement(MappingProxyType(spec.node_selector), _read_affinity(spec), _read_tolerations(spec.tolerations))


def _read_affinity(spec: PodSpec) -> tuple[tuple[Requirement, ...], ...] | None:
    node_affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if node_affinity is None or node_affinity.required is None:
        return None
    return tuple(
        tuple(Requirement(each.key, each.operator, tuple(each.values)) for each in term.match_expressions)
        for term in node_affinity.required.node_selector_terms
        if term.match_expressions or term.match_fields
    )


def _read_tolerations(written: Iterable[TolerationView]) -> tuple[Toleration, ...]:
    return tuple(
        Toleration(each.key, each.operator or "Equal", each.value, each.effect, each.toleration_seconds)
        for each in written
    )


def write_toleration(toleration: Toleration) -> dict[str, str | int]:
    """As it is written in a pod spec; what is empty is left out."""
    named = {"key": toleration.key, "value": toleration.value, "effect": toleration.effect}
    written: dict[str, str | int] = {
        "operator": toleration.operator,
        **{key: text for key, text in named.items() if text},
    }
    if toleration.toleration_seconds is not None:
        written["tolerationSeconds"] = toleration.toleration_seconds
    return written
