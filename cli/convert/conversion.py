"""What a conversion has made so far, and what it could not carry over: shared by the modules of all systems."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from cli.convert.draft import QuotaGroupDraft, parents_first
from cli.read.duplicates import check_unique
from cli.read.manifests import Manifest
from shared.api.json.reading import ResourceList, Unreadable
from shared.api.names import GROUP_LABEL
from shared.problems import Problem
from shared.quota.model.tree import DEFAULT, ROOT, SYSTEM
from shared.resources import Amount, QuantityError, read_amount

T = TypeVar("T")
RESERVED: Final = frozenset({ROOT, DEFAULT, SYSTEM})
_ADDED: Final = frozenset(
    {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink", "deletionTimestamp"}
)
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""The label that every namespace has, with its name."""


@dataclass(frozen=True, slots=True)
class Note:
    """What differs after the conversion: where it was written, and what a person has to know or do."""

    manifest: Manifest
    field: str
    text: str

    def __str__(self) -> str:
        return f"{where(self.manifest, self.field)}: {self.text}"


@dataclass
class Conversion:
    """The objects made, and what differs.

    `workloads`: those that name a queue, and the PriorityClasses that they name. `namespaces`: those in the files and
    those that a group admits; only the labelled ones are written.
    """

    groups: dict[str, QuotaGroupDraft] = field(default_factory=dict)
    flavors: list[dict[str, Any]] = field(default_factory=list)
    workloads: list[dict[str, Any]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    namespaces: dict[str, dict[str, Any]] = field(default_factory=dict)
    queue_groups: dict[str, str] = field(default_factory=dict)
    """NAMESPACE/QUEUE of Kueue -> group."""
    priorities: list[dict[str, Any]] = field(default_factory=list)
    """The workload priorities that the chart's values have to name."""
    _sources: dict[str, Manifest] = field(default_factory=dict)
    """By the name of the group made of it."""
    _told: set[str] = field(default_factory=set)
    """The texts of notes that are not repeated for each object."""

    def read_namespaces(self, manifests: Iterable[Manifest]) -> None:
        """Read the namespaces in the files, so that one that is labelled keeps what it has."""
        found = [each for each in manifests if (each.api_version, each.kind) == ("v1", "Namespace")]
        check_unique(found)
        self.namespaces |= {each.name: as_written(each) for each in found}

    def note(self, manifest: Manifest, place: str, text: str) -> None:
        """Add a note on what differs at a field."""
        self.notes.append(Note(manifest, place, text))

    def note_once(self, manifest: Manifest, place: str, text: str) -> None:
        """Add a note that is about many objects, at the first of them."""
        if text not in self._told:
            self._told.add(text)
            self.note(manifest, place, text)

    def note_left_out(self, manifest: Manifest, known: Iterable[str]) -> None:
        """Add a note for each field of the spec that the conversion does not read."""
        fields = manifest.body.get("spec")
        for name in sorted(fields.keys() - set(known)) if isinstance(fields, dict) else ():
            self.note(manifest, f"spec.{name}", "has no counterpart and is left out")

    def _name_for(self, manifest: Manifest, wanted: str, suffix: str) -> str:
        """Return the wanted name, or with `-suffix` where another group has it or Quotree keeps it for itself."""
        if wanted not in self.groups and wanted not in RESERVED:
            return wanted
        name = f"{wanted}-{suffix}"
        self.note(manifest, "metadata.name", f"the group of {wanted} is called {name}: that name is taken")
        return name

    def add_group(self, manifest: Manifest, wanted: str, suffix: str, *, is_parent: bool = False) -> QuotaGroupDraft:
        """Add the group of an object, under the wanted name where that is free.

        Raises Problem with both objects when the name with the suffix is taken, too.
        """
        name = self._name_for(manifest, wanted, suffix)
        if name in self.groups:
            first = where(self._sources[name], "metadata.name")
            second = where(manifest, "metadata.name")
            raise Problem(f"{first} and {second}: both groups would be called {name}; rename one of the objects")
        draft = self.groups[name] = QuotaGroupDraft(name, is_parent=is_parent)
        self._sources[name] = manifest
        return draft

    def label_namespace(self, name: str, group: str) -> None:
        """Give a namespace the label of a group; everything else stays as its manifest has it."""
        body = self.namespaces.get(name) or {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        metadata = body["metadata"]
        labels = {**metadata.get("labels", {}), GROUP_LABEL: group}
        self.namespaces[name] = {**body, "metadata": {**metadata, "labels": labels}}

    def documents(self) -> list[dict[str, Any]]:
        """Return all objects, in an order in which they can be applied."""
        groups = [draft.manifest() for draft in parents_first(self.groups)]
        labelled = [body for body in self.namespaces.values() if GROUP_LABEL in body["metadata"].get("labels", {})]
        return [*self.flavors, *groups, *labelled, *self.workloads]

    def values(self) -> dict[str, Any]:
        """Return the chart's values that go with the objects: what cannot be an object of its own."""
        found: dict[str, Any] = {}
        if self.queue_groups:
            found |= {"dialects": ["kueue"], "queueGroups": dict(sorted(self.queue_groups.items()))}
        if self.priorities:
            found["quota"] = {"workloadPriorities": self.priorities}
        return found


def where(manifest: Manifest, place: str) -> str:
    """File, line, object and field, for a message."""
    return f"{manifest.file}:{manifest.line_of(place)}: {manifest.label} {place}".rstrip()


def as_written(manifest: Manifest) -> dict[str, Any]:
    """Return an object without what was added to it by the API server, by kubectl and when its file was read."""
    body = manifest.body
    added = _ADDED | {"name"} if manifest.is_name_generated else _ADDED
    metadata = {key: value for key, value in body["metadata"].items() if key not in added}
    annotations = {key: value for key, value in (metadata.pop("annotations", None) or {}).items() if key != _APPLIED}
    if annotations:
        metadata["annotations"] = annotations
    return {**{key: value for key, value in body.items() if key != "status"}, "metadata": metadata}


def read_object(read: Callable[[Mapping[str, Any]], T], manifest: Manifest) -> T:
    """Return the typed view of a manifest. Raises Problem with file, line and field when it is no such object."""
    try:
        return read(manifest.body)
    except Unreadable as error:
        raise Problem(f"{manifest.file}:{manifest.line}: {manifest.label} cannot be read: {error}") from error


def read_amounts(manifest: Manifest, place: str, quantities: ResourceList) -> dict[str, Amount]:
    """Return the amounts of a resource list. Raises Problem with file, line and field for what is no quantity."""
    return {resource: read_one(manifest, place, resource, quantity) for resource, quantity in quantities.items()}


def read_one(manifest: Manifest, place: str, resource: str, quantity: str | int | float) -> Amount:
    """Return one amount of a resource. Raises Problem as read_amounts does."""
    try:
        return read_amount(resource, quantity)
    except QuantityError as error:
        raise Problem(f"{where(manifest, place)}: {resource} {error}") from error


def select_namespaces(names: Iterable[str], selector: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a selector of those of the namespaces that `selector` admits; without one, of all of them."""
    admitted = selector or {}
    named = {"key": NAMESPACE_NAME, "operator": "In", "values": sorted(set(names))}
    return {**admitted, "matchExpressions": [*admitted.get("matchExpressions", ()), named]}
