"""Where a pod may run, as its template says it: nodeSelector, required node affinity, tolerations."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


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
    """All of it. `affinity` is a disjunction of terms, each a conjunction of requirements; None: no affinity given."""

    node_selector: Mapping[str, str] = MappingProxyType({})
    affinity: tuple[tuple[Requirement, ...], ...] | None = None
    tolerations: tuple[Toleration, ...] = ()


ANYWHERE = Placement()
