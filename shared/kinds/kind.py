"""A kind that is governed by a descriptor, compiled: what reading and patching its objects needs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.kinds.descriptor import AbsentEntry, ChildEntry, GateEntry, InjectEntry, KindEntry, PodSetEntry, RefuseEntry
from shared.kinds.expressions import Expression, compile_expression
from shared.kinds.paths import Path, Pointer, compile_path
from shared.kinds.predicates import Predicate
from shared.kinds.readers import READERS, Reader
from shared.kinds.values import ValueAt, compile_value, compile_values


@dataclass(frozen=True, slots=True, eq=False)
class Refusal:
    """An object with a value at `each` to which the predicate applies cannot be governed as a whole."""

    each: Path
    applies: Predicate
    because: str
    remedy: str


@dataclass(frozen=True, slots=True, eq=False)
class Absent:
    """The template of a set whose object has none, and the fields that are copied into it."""

    template: Mapping[str, Any]
    copies: tuple[tuple[Pointer, Path], ...]


@dataclass(frozen=True, slots=True, eq=False)
class PodSetRule:
    """The compiled PodSetEntry, which explains the fields."""

    each: Path
    within: Path | None
    name: str
    name_at: Path | None
    template: Path
    template_named_by: Path | None
    reader: Reader | None
    values: Mapping[str, ValueAt]
    count: Expression
    when: Predicate | None
    made_by: str
    absent: Absent | None
    into: Path | None
    labels: Pointer
    node_selector: Pointer
    tolerations: Pointer


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """The compiled GateEntry, which explains the fields."""

    group_label: str
    size_annotation: str
    groups: ValueAt


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A governed kind. Compared by identity: each process compiles its settings once."""

    group: str
    version: str
    kind: str
    resource: str
    suspend: Pointer
    """Of the flag that holds an object; empty: it has none."""
    gate: Gate | None
    through: str
    """The kind that its operator makes of it, which is governed in its place; empty: none."""
    pod_sets: tuple[PodSetRule, ...]
    noted: tuple[Predicate, ...]
    stopped: tuple[Predicate, ...]
    """One of them is true once its operator has observed the flag and makes no more pods; empty: it cannot be told."""
    finished: tuple[Predicate, ...]
    skip: tuple[Predicate, ...]
    refuse: tuple[Refusal, ...]
    operators: frozenset[str]
    """The API users as which its operator creates children."""
    children: tuple[ChildEntry, ...]

    @property
    def api_version(self) -> str:
        """group/version, as in a manifest."""
        return f"{self.group}/{self.version}"

    @property
    def path(self) -> str:
        """The path at which the API server lists its objects."""
        return f"/apis/{self.api_version}/{self.resource}"

    @property
    def has_makers(self) -> bool:
        """Whether some of its pods make others."""
        return any(each.made_by for each in self.pod_sets)

    def is_of(self, api_version: str, kind: str) -> bool:
        """Return whether an object or owner reference with these fields is of the kind, whatever its version."""
        return kind == self.kind and api_version.partition("/")[0] == self.group


@dataclass(frozen=True, slots=True)
class Kinds:
    """The governed kinds, each once."""

    all: tuple[Kind, ...] = ()
    _by_name: Mapping[tuple[str, str], Kind] = field(default_factory=dict)

    @staticmethod
    def of(kinds: Iterable[Kind]) -> "Kinds":
        """Return these kinds; of two with the same group and kind, the first."""
        by_name: dict[tuple[str, str], Kind] = {}
        for kind in kinds:
            by_name.setdefault((kind.group, kind.kind), kind)
        return Kinds(tuple(by_name.values()), by_name)

    def find(self, api_version: str, kind: str) -> Kind | None:
        """Return the kind of an object or owner reference with these fields, whatever its version, or None."""
        return self._by_name.get((api_version.partition("/")[0], kind))

    @property
    def suspended(self) -> tuple[Kind, ...]:
        """The kinds whose objects a flag holds; the others are held by their pods or through another kind."""
        return tuple(each for each in self.all if each.suspend)

    def named(self, kind: str) -> Kind | None:
        """Return the kind of that name, which is a workload's `kind`, or None."""
        return next((each for each in self.all if each.kind == kind), None)


def compile_kind(entry: KindEntry) -> Kind:
    """Compile a whole descriptor; `preset` is resolved before. Raises KeyProblem."""
    entry.check_whole()
    group, _, version = entry.api_version.partition("/")
    return Kind(
        group=group,
        version=version,
        kind=entry.kind,
        resource=entry.resource,
        suspend=compile_path(entry.suspend).pointer if entry.suspend else (),
        gate=None if entry.gate is None else _gate(entry.gate),
        through=entry.through,
        pod_sets=tuple(_pod_set(each) for each in entry.pod_sets),
        noted=tuple(each.compiled() for each in entry.noted),
        stopped=tuple(each.compiled() for each in entry.stopped),
        finished=tuple(each.compiled() for each in entry.finished),
        skip=tuple(each.compiled() for each in entry.skip),
        refuse=tuple(_refusal(each) for each in entry.refuse),
        operators=frozenset(entry.operators),
        children=entry.children,
    )


def _gate(entry: GateEntry) -> Gate:
    return Gate(entry.group_label, entry.size_annotation, compile_value(entry.groups))


def _refusal(entry: RefuseEntry) -> Refusal:
    return Refusal(compile_path(entry.each), entry.compiled(), entry.because, entry.remedy)


def _pod_set(entry: PodSetEntry) -> PodSetRule:
    values = compile_values(entry.values)
    is_path = entry.name.startswith(".")
    inject: InjectEntry = entry.inject
    return PodSetRule(
        each=compile_path(entry.each),
        within=compile_path(entry.within) if entry.within else None,
        name="" if is_path else entry.name,
        name_at=compile_path(entry.name) if is_path else None,
        template=compile_path(entry.template),
        template_named_by=compile_path(entry.template_named_by) if entry.template_named_by else None,
        reader=READERS[entry.reader] if entry.reader else None,
        values=values,
        count=compile_expression(entry.count, frozenset(values)),
        when=None if entry.when is None else entry.when.compiled(),
        made_by=entry.made_by,
        absent=None if entry.absent is None else _absent(entry.absent),
        into=compile_path(inject.into) if inject.into else None,
        labels=compile_path(inject.labels).pointer,
        node_selector=compile_path(inject.node_selector).pointer,
        tolerations=compile_path(inject.tolerations).pointer,
    )


def _absent(entry: AbsentEntry) -> Absent:
    copies = tuple((compile_path(to).pointer, compile_path(source)) for to, source in entry.copy.items())
    return Absent(entry.template, copies)
