"""What decides a pod's group, priority and request besides the pod: its namespace, LimitRanges, classes and claims.

One place for all readers: the processes feed it the changes that their watches report, the command line the objects of
its manifests. Pure.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol, TypeVar

from shared.api.core.limitrange import NO_DEFAULTS, ContainerDefaults, LimitRange, container_defaults
from shared.api.core.metadata import Metadata
from shared.api.core.namespace import Namespace
from shared.api.core.priority import Priorities, PriorityClass
from shared.api.core.resource_claim import ClaimDevices
from shared.api.core.runtimeclass import RuntimeClass
from shared.quota.model.devices.claims import DeviceRef, DeviceSource, NamespaceDevices
from shared.quota.model.devices.resources import DeviceResources

NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})

R = TypeVar("R")
Transition = tuple[R | None, R | None]
"""(before, after) of one object: (None, x) appeared, (x, y) changed, (x, None) is gone."""


@dataclass(frozen=True, slots=True)
class NamespaceContext:
    """The context of the workloads of one namespace."""

    namespace_labels: Mapping[str, str] = field(default_factory=dict)
    priorities: Priorities = field(default_factory=Priorities)
    limits: ContainerDefaults = NO_DEFAULTS
    overheads: Mapping[str, Mapping[str, int | float | str]] = field(default_factory=dict)
    """RuntimeClass name -> its pods' overhead."""
    devices: NamespaceDevices | None = None
    """Its claims and templates, as they are at any time; None: devices are not counted."""


@dataclass(slots=True)
class NamespaceContexts:
    """The latest object of each kind, and for every namespace the context of its workloads.

    `observe_…` takes transitions; those of namespaces and LimitRanges return the affected namespaces, a changed
    class affects all. Those of claims and their templates return which were touched.

    `devices`: as which resources devices count; None: they do not, and no claims are given.
    """

    devices: DeviceResources | None = None
    _labels: dict[str, Mapping[str, str]] = field(default_factory=dict)
    _limits: dict[str, ContainerDefaults] = field(default_factory=dict)
    _limit_ranges: dict[str, dict[str, LimitRange]] = field(default_factory=dict)
    _classes: dict[str, PriorityClass] = field(default_factory=dict)
    _priorities: Priorities = field(default_factory=Priorities)
    _overheads: Mapping[str, Mapping[str, int | float | str]] = field(default_factory=dict)
    _claims: dict[DeviceSource, dict[str, dict[str, ClaimDevices]]] = field(
        default_factory=lambda: {source: {} for source in DeviceSource}
    )
    _known: dict[str, NamespaceContext] = field(default_factory=dict)

    def of(self, namespace: str) -> NamespaceContext:
        """Return the context of the workloads of `namespace`."""
        known = self._known.get(namespace)
        if known is None:
            known = self._known[namespace] = self.with_labels(namespace, self.labels(namespace))
        return known

    def with_labels(self, namespace: str, labels: Mapping[str, str]) -> NamespaceContext:
        """Return the context of a namespace with these labels instead of the stored ones."""
        limits, devices = self._limits.get(namespace, NO_DEFAULTS), self.devices_of(namespace)
        return NamespaceContext(labels, self._priorities, limits, self._overheads, devices)

    def devices_of(self, namespace: str) -> NamespaceDevices | None:
        """Return the claims and templates of the namespace, as they are at any time; None: devices are not counted."""
        if self.devices is None:
            return None
        claims, templates = (self._claims[source].setdefault(namespace, {}) for source in DeviceSource)
        return NamespaceDevices(namespace, self.devices, claims, templates)

    def knows(self, namespace: str) -> bool:
        """Return whether the namespace is in the lists and watches so far."""
        return namespace in self._labels

    @property
    def names(self) -> Collection[str]:
        """The names of all namespaces in the lists and watches so far."""
        return self._labels.keys()

    def labels(self, namespace: str) -> Mapping[str, str]:
        """Return the namespace's own labels; none for one that is not known."""
        return self._labels.get(namespace, NO_LABELS)

    def observe_namespaces(self, transitions: Iterable[Transition[Namespace]]) -> set[str]:
        """Apply changes of namespaces; return the namespaces affected."""
        touched = _store(self._labels, transitions, lambda each: each.metadata.labels)
        self._forget(touched)
        return touched

    def observe_limit_ranges(self, transitions: Iterable[Transition[LimitRange]]) -> set[str]:
        """Apply changes of LimitRanges; return the namespaces affected."""
        touched = set()
        for before, after in transitions:
            for record in (before, after):
                if record is not None:
                    of_namespace = self._limit_ranges.setdefault(record.metadata.namespace, {})
                    of_namespace.pop(record.metadata.name, None)
                    touched.add(record.metadata.namespace)
                    if record is after:
                        of_namespace[record.metadata.name] = record
        for namespace in touched:
            self._limits[namespace] = container_defaults(self._limit_ranges[namespace].values())
        self._forget(touched)
        return touched

    def observe_priority_classes(self, transitions: Iterable[Transition[PriorityClass]]) -> None:
        """Apply changes of PriorityClasses."""
        _store(self._classes, transitions, lambda each: each)
        self._priorities = Priorities.of(self._classes.values())
        self._known.clear()

    def observe_runtime_classes(self, transitions: Iterable[Transition[RuntimeClass]]) -> None:
        """Apply changes of RuntimeClasses."""
        overheads = dict(self._overheads)
        _store(overheads, transitions, lambda each: each.overhead.pod_fixed)
        self._overheads = overheads
        self._known.clear()

    def observe_claims(self, source: DeviceSource, transitions: Iterable[Transition[ClaimDevices]]) -> set[DeviceRef]:
        """Apply changes of ResourceClaims or of their templates; return those that changed."""
        touched = set()
        for before, after in transitions:
            for record in (before, after):
                if record is not None:
                    in_namespace = self._claims[source].setdefault(record.namespace, {})
                    in_namespace.pop(record.name, None)
                    touched.add(DeviceRef(source, record.namespace, record.name))
                    if record is after:
                        in_namespace[record.name] = record
        return touched

    def _forget(self, namespaces: set[str]) -> None:
        for namespace in namespaces:
            self._known.pop(namespace, None)


class _Named(Protocol):
    @property
    def metadata(self) -> Metadata:
        """With the object's name."""


N = TypeVar("N", bound=_Named)
V = TypeVar("V")


def _store(kept: dict[str, V], transitions: Iterable[Transition[N]], value: Callable[[N], V]) -> set[str]:
    """Store each object's view by its name; return the names that changed."""
    touched = set()
    for before, after in transitions:
        if before is not None:
            kept.pop(before.metadata.name, None)
            touched.add(before.metadata.name)
        if after is not None:
            kept[after.metadata.name] = value(after)
            touched.add(after.metadata.name)
    return touched
