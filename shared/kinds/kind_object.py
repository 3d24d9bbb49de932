"""The typed view of an object of a governed kind: values that compare, without the object itself."""

from dataclasses import dataclass
from typing import Any

from shared.api.core.metadata import Metadata
from shared.api.core.pod import PodSpec
from shared.kinds.kind import Kind
from shared.kinds.paths import PathProblem, Pointer, kind_of, show


@dataclass(frozen=True, slots=True)
class ObjectField:
    """A field of the object: its pointer, how many steps of that exist, and the value; None: it is absent."""

    at: Pointer
    present: int
    value: Any = None


def member_at(root: Any, at: Pointer) -> ObjectField:
    """Return the field at `at`. Raises PathProblem where a step leads into a text or a number."""
    value = root
    for number, step in enumerate(at):
        if not isinstance(value, dict | list):
            raise PathProblem(f"{show(at[:number])} is {kind_of(value)}, not a mapping")
        below = value.get(step) if isinstance(value, dict) else _item(value, step)
        if below is None:
            return ObjectField(at, number)
        value = below
    return ObjectField(at, len(at), value)


def _item(values: list[Any], step: str | int) -> Any:
    return values[step] if isinstance(step, int) and step < len(values) else None


@dataclass(frozen=True, slots=True)
class KindPodSet:
    """Equal pods: how many, the pod spec of each, and the pointer of their template."""

    name: str
    count: int
    spec: PodSpec
    template: Pointer
    labels: ObjectField
    node_selector: ObjectField
    tolerations: ObjectField
    annotations: dict[str, str]
    """Of the template."""
    added: Any = None
    """The template that the object lacks and its operator would use: written with the first change of the set."""
    made_by: str = ""
    """The name of the set whose pods make these; empty: the operator does."""


@dataclass(frozen=True, slots=True)
class KindObject:
    """An object of a governed kind.

    `noted`: its operator has observed the last change of the flag. `stopped`: its operator has observed that the flag
    holds the object, and makes no more pods; true where the descriptor cannot tell. `skipped`: it is not managed.
    `refusals`: why it cannot be governed as a whole, and what its owner can do. `problems`: messages on the fields that
    cannot be read; then it has no pod sets.
    """

    kind: Kind
    metadata: Metadata
    suspend: ObjectField
    noted: bool
    stopped: bool
    finished: bool
    skipped: bool
    refusals: tuple[str, ...]
    problems: tuple[str, ...]
    pod_sets: tuple[KindPodSet, ...]
    groups: int = 1
    """How many groups of pods it makes, each with these pod sets; more than 1 only for gated kinds."""

    @property
    def suspended(self) -> bool:
        """Whether the flag holds it."""
        return self.suspend.value is True
