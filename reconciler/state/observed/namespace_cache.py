"""The context that workloads are read in: namespaces, LimitRanges, PriorityClasses, RuntimeClasses. Pure.

`see_…` takes the changes of a watch; those of namespaces and LimitRanges return the namespaces that are affected, a
changed class affects all.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeVar

from shared.api.core.limitrange import NO_DEFAULTS, ContainerDefaults, LimitRange, container_defaults
from shared.api.core.namespace import Namespace
from shared.api.core.priority import Priorities, PriorityClass
from shared.api.core.runtimeclass import RuntimeClass
from shared.kube.watch.cache import Change, Changed, Undecodable
from shared.quota.model.job_reading import NamespaceContext

R = TypeVar("R")
NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})


def sides(changes: Sequence[Changed[R] | Undecodable]) -> Iterator[tuple[R | None, R | None]]:
    """(before, after) of each change; objects that could not be read are passed over: their previous record stays."""
    for change in changes:
        if isinstance(change, Changed):
            yield change.before, change.after


@dataclass(slots=True)
class NamespaceCache:
    """The latest of each kind, and for every namespace the context of its workloads."""

    _labels: dict[str, Mapping[str, str]] = field(default_factory=dict)
    _limits: dict[str, ContainerDefaults] = field(default_factory=dict)
    _limit_ranges: dict[str, dict[str, LimitRange]] = field(default_factory=dict)
    _classes: dict[str, PriorityClass] = field(default_factory=dict)
    _priorities: Priorities = field(default_factory=Priorities)
    _overheads: dict[str, Mapping[str, int | float | str]] = field(default_factory=dict)
    _known: dict[str, NamespaceContext] = field(default_factory=dict)

    def of(self, namespace: str) -> NamespaceContext:
        """The context of the workloads of `namespace`."""
        known = self._known.get(namespace)
        if known is None:
            known = self._known[namespace] = NamespaceContext(
                self.labels(namespace), self._priorities, self._limits.get(namespace, NO_DEFAULTS), self._overheads
            )
        return known

    def labels(self, namespace: str) -> Mapping[str, str]:
        """The namespace's own labels; none for one that is not known."""
        return self._labels.get(namespace, NO_LABELS)

    def see_namespaces(self, changes: Sequence[Change[Namespace]]) -> set[str]:
        """Namespaces appeared, changed or went."""
        touched = set()
        for before, after in sides(changes):
            if before is not None:
                self._labels.pop(before.metadata.name, None)
                touched.add(before.metadata.name)
            if after is not None:
                self._labels[after.metadata.name] = after.metadata.labels
                touched.add(after.metadata.name)
        self._forget(touched)
        return touched

    def see_limit_ranges(self, changes: Sequence[Change[LimitRange]]) -> set[str]:
        """LimitRanges appeared, changed or went."""
        touched = set()
        for before, after in sides(changes):
            for record in (before, after):
                if record is not None:
                    of_namespace = self._limit_ranges.setdefault(record.metadata.namespace, {})
                    of_namespace.pop(record.metadata.uid, None)
                    touched.add(record.metadata.namespace)
                    if record is after:
                        of_namespace[record.metadata.uid] = record
        for namespace in touched:
            self._limits[namespace] = container_defaults(self._limit_ranges[namespace].values())
        self._forget(touched)
        return touched

    def see_priority_classes(self, changes: Sequence[Change[PriorityClass]]) -> None:
        """PriorityClasses appeared, changed or went."""
        for before, after in sides(changes):
            if before is not None:
                self._classes.pop(before.metadata.uid, None)
            if after is not None:
                self._classes[after.metadata.uid] = after
        self._priorities = Priorities.of(self._classes.values())
        self._known.clear()

    def see_runtime_classes(self, changes: Sequence[Change[RuntimeClass]]) -> None:
        """RuntimeClasses appeared, changed or went."""
        overheads = dict(self._overheads)
        for before, after in sides(changes):
            if before is not None:
                overheads.pop(before.metadata.name, None)
            if after is not None:
                overheads[after.metadata.name] = after.overhead.pod_fixed
        self._overheads = overheads
        self._known.clear()

    def _forget(self, namespaces: set[str]) -> None:
        for namespace in namespaces:
            self._known.pop(namespace, None)
