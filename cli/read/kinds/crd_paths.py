"""Whether the paths of a descriptor lead somewhere in the schema of its kind, as the kind's definition has it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Optional

import msgspec

from cli.read.manifests import Manifest, read_manifests
from shared.api.json.reading import Unreadable, View, reader
from shared.kinds.kind import Kind, PodSetRule
from shared.kinds.paths import Path, compile_path
from shared.kinds.predicates import Computed, HasCondition, IsAmong, IsPresent, Predicate
from shared.kinds.values import ValueAt
from shared.problems import Problem


class KindSchema(View, frozen=True):
    """What a value may be, of an OpenAPI schema."""

    type: str = ""
    properties: dict[str, "KindSchema"] = {}
    items: Optional["KindSchema"] = None
    additional_properties: "bool | KindSchema" = False
    preserve: bool = msgspec.field(name="x-kubernetes-preserve-unknown-fields", default=False)

    @property
    def is_open(self) -> bool:
        """Whether there may be members that it does not name."""
        return self.preserve or not self.type


class _Names(View, frozen=True):
    kind: str = ""


class _Validation(View, frozen=True):
    schema: KindSchema = msgspec.field(name="openAPIV3Schema", default=KindSchema())


class _Version(View, frozen=True):
    name: str
    served: bool = True
    schema: _Validation = _Validation()


class _Spec(View, frozen=True):
    group: str = ""
    names: _Names = _Names()
    versions: list[_Version] = []


class _Definition(View, frozen=True):
    spec: _Spec = _Spec()


_read_definition = reader(_Definition)
Starts = list[KindSchema]
ANYTHING: Final = KindSchema()
"""What a member is that a schema allows and does not name."""
METADATA: Final = KindSchema(type="object", preserve=True)
"""No definition says what metadata has."""
_CONDITIONS: Final = compile_path(".status.conditions[*].type")


@dataclass(frozen=True, slots=True)
class DeadEnd:
    """A path of a descriptor that no object of the kind can have: its key, the path, and where the schema ends."""

    kind: str
    key: str
    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind} {self.key}: {self.path}: {self.reason}"


@dataclass(frozen=True, slots=True)
class PathFindings:
    """What the schemas say of descriptors; `unnamed`: paths to members that a schema allows without naming them."""

    dead_ends: Sequence[DeadEnd]
    unnamed: Sequence[str]


def check_paths(kinds: Sequence[Kind], files: Sequence[str]) -> PathFindings:
    """Look up the paths of every kind in its definition in the files. Raises Problem for one whose is not there."""
    definitions = [each for each in read_manifests(files) if each.kind == "CustomResourceDefinition"]
    dead_ends, unnamed = list[DeadEnd](), list[str]()
    for kind in kinds:
        schema = _schema_of(kind, definitions, files)
        for key, path, start in _paths(kind, schema):
            found, reason = follow(start, path)
            if key == "suspend" and not reason:
                reason = _why_no_flag(found)
            if reason:
                dead_ends.append(DeadEnd(kind.kind, key, path.text, reason))
            elif any(each is ANYTHING for each in found):
                unnamed.append(f"{kind.kind} {key}: {path.text}")
    return PathFindings(dead_ends, unnamed)


def _why_no_flag(found: Starts) -> str:
    """Return why these schemas are not that of a flag; empty: one is, or may be."""
    types = {each.type for each in found}
    return "" if types & {"boolean", ""} else f"the schema has the type {', '.join(sorted(types))} there, not boolean"


def follow(schemas: Iterable[KindSchema], path: Path) -> tuple[Starts, str]:
    """Return the schemas that a path leads to, and why it leads to none."""
    found = list(schemas)
    passed = "it"
    for step in path.steps:
        found, before = [each for schema in found for each in _below(schema, step)], found
        name = step if isinstance(step, str) else f"[{step}]" if isinstance(step, int) else "[*]"
        if not found:
            known = sorted({each for schema in before for each in schema.properties})
            has = f"; it has {', '.join(known[:12])}" if known and isinstance(step, str) else ""
            return [], f"the schema has no {name} in {passed}{has}"
        passed = name if passed == "it" else f"{passed}.{name}"
    return found, ""


def _below(schema: KindSchema, step: object) -> Iterator[KindSchema]:
    """Yield the schemas of what a step leads to; unknown members lead to anything."""
    if schema is METADATA:
        yield METADATA
        return
    members = schema.additional_properties
    other = members if isinstance(members, KindSchema) else ANYTHING if members or schema.is_open else None
    if isinstance(step, str):
        named = schema.properties.get(step, other)
        if named is not None:
            yield named
        return
    if schema.items is not None:
        yield schema.items
    elif schema.is_open:
        yield ANYTHING
    if not isinstance(step, int):  # [*] is also every member of a mapping
        yield from schema.properties.values()
        if members and other is not None:
            yield other


def _schema_of(kind: Kind, definitions: Sequence[Manifest], files: Sequence[str]) -> KindSchema:
    for manifest in definitions:
        try:
            spec = _read_definition(manifest.body).spec
        except Unreadable as error:
            raise Problem(f"{manifest.file}:{manifest.line}: {manifest.label} cannot be read: {error}") from error
        if (spec.group, spec.names.kind) != (kind.group, kind.kind):
            continue
        place = f"{manifest.file}:{manifest.line_of('spec.versions')}: {kind.kind}"
        served = {each.name: each for each in spec.versions if each.served}
        if kind.version not in served:
            word = "does not serve" if any(each.name == kind.version for each in spec.versions) else "has no"
            there = f"there are {', '.join(served)}" if served else "there is none"
            raise Problem(f"{place} {word} version {kind.version}; {there}")
        schema = served[kind.version].schema.schema
        return msgspec.structs.replace(schema, properties={**schema.properties, "metadata": METADATA})
    raise Problem(f"there is no CustomResourceDefinition of {kind.api_version} {kind.kind} in {', '.join(files)}")


def _paths(kind: Kind, root: KindSchema) -> Iterator[tuple[str, Path, Starts]]:
    """Yield (key of the descriptor, path, the schemas that it begins at)."""
    if kind.suspend:
        yield "suspend", compile_path("." + ".".join(map(str, kind.suspend))), [root]
    if kind.gate is not None:
        yield "gate.groups", kind.gate.groups.path, [root]
    for at, rule in enumerate(kind.pod_sets):
        yield from _of_pod_set(f"podSets[{at}]", rule, root)
    for name in ("noted", "stopped", "finished", "skip"):
        for at, predicate in enumerate(getattr(kind, name)):
            yield from _of_predicate(f"{name}[{at}]", predicate, [root])
    for at, refusal in enumerate(kind.refuse):
        yield f"refuse[{at}].each", refusal.each, [root]
        yield from _of_predicate(f"refuse[{at}]", refusal.applies, follow([root], refusal.each)[0])


def _of_pod_set(key: str, rule: PodSetRule, root: KindSchema) -> Iterator[tuple[str, Path, Starts]]:
    """A path that begins where another one ends is left out when that one is a dead end itself."""
    above = [root]
    if rule.within is not None:
        yield f"{key}.within", rule.within, [root]
        above = follow([root], rule.within)[0]
    if above:
        if rule.when is not None:
            yield from _of_predicate(f"{key}.when", rule.when, above)
        yield f"{key}.each", rule.each, above
    element = follow(above, rule.each)[0]
    if not element:
        return
    if rule.name_at is not None:
        yield f"{key}.name", rule.name_at, element
    if rule.template_named_by is not None:
        yield f"{key}.templateNamedBy", rule.template_named_by, element
    else:
        yield f"{key}.template", rule.template, element
    yield from _of_values(f"{key}.values", rule.values, element)
    if rule.absent is not None:
        yield from ((f"{key}.absent.copy", source, [root]) for _, source in rule.absent.copies)


def _of_predicate(key: str, predicate: Predicate, start: Starts) -> Iterator[tuple[str, Path, Starts]]:
    if not start:
        return
    if isinstance(predicate, HasCondition):
        yield f"{key}.condition", _CONDITIONS, start
    elif isinstance(predicate, IsAmong):
        yield f"{key}.path", predicate.value.path, start
    elif isinstance(predicate, IsPresent):
        yield f"{key}.path", predicate.path, start
    elif isinstance(predicate, Computed):
        yield from _of_values(f"{key}.values", predicate.values, start)


def _of_values(key: str, values: Mapping[str, ValueAt], start: Starts) -> Iterator[tuple[str, Path, Starts]]:
    yield from ((f"{key}.{name}", value.path, start) for name, value in values.items())
