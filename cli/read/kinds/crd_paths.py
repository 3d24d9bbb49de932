"""Whether the paths of a descriptor lead somewhere in the schema of its kind, as the kind's definition has it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cli.read.manifests import Manifest, read_manifests
from shared.kinds.kind import Kind, PodSetRule
from shared.kinds.paths import Path, compile_path
from shared.kinds.predicates import Computed, HasCondition, IsAmong, IsPresent, Predicate
from shared.kinds.values import ValueAt
from shared.problems import Problem

KindSchema = Mapping[str, Any]
Starts = list[KindSchema]
ANYTHING: Final[KindSchema] = {"x-kubernetes-preserve-unknown-fields": True}
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


def check_paths(kinds: Sequence[Kind], files: Sequence[str]) -> list[DeadEnd]:
    """Return the dead ends of every kind whose definition is in the files. Raises Problem for one whose is not."""
    definitions = [each for each in read_manifests(files) if each.kind == "CustomResourceDefinition"]
    found = []
    for kind in kinds:
        schema = _schema_of(kind, definitions, files)
        for key, path, start in _paths(kind, schema):
            reason = follow(start, path)[1]
            if reason:
                found.append(DeadEnd(kind.kind, key, path.text, reason))
    return found


def follow(schemas: Iterable[KindSchema], path: Path) -> tuple[Starts, str]:
    """Return the schemas that a path leads to, and why it leads to none."""
    found = list(schemas)
    passed = "it"
    for step in path.steps:
        found, before = [each for schema in found for each in _below(schema, step)], found
        name = step if isinstance(step, str) else f"[{step}]" if isinstance(step, int) else "[*]"
        if not found:
            known = sorted({each for schema in before for each in schema.get("properties") or ()})
            has = f"; it has {', '.join(known[:12])}" if known and isinstance(step, str) else ""
            return [], f"the schema has no {name} in {passed}{has}"
        passed = name if passed == "it" else f"{passed}.{name}"
    return found, ""


def _below(schema: KindSchema, step: object) -> Iterator[KindSchema]:
    """Yield the schemas of what a step leads to; unknown members lead to anything."""
    if schema.get("x-kubernetes-preserve-unknown-fields") or not schema.get("type"):
        yield ANYTHING
    properties, members = schema.get("properties") or {}, schema.get("additionalProperties")
    if isinstance(step, str):
        if step in properties:
            yield properties[step]
        elif members:
            yield members if isinstance(members, dict) else ANYTHING
        return
    if "items" in schema:
        yield schema["items"]
    if not isinstance(step, int):  # [*] is also every member of a mapping
        yield from properties.values()
        if members:
            yield members if isinstance(members, dict) else ANYTHING


def _schema_of(kind: Kind, definitions: Sequence[Manifest], files: Sequence[str]) -> KindSchema:
    for manifest in definitions:
        spec = manifest.body.get("spec") or {}
        if (spec.get("group"), (spec.get("names") or {}).get("kind")) != (kind.group, kind.kind):
            continue
        versions = {str(each.get("name")): each for each in spec.get("versions") or ()}
        if kind.version not in versions:
            place = f"{manifest.file}:{manifest.line_of('spec.versions')}"
            raise Problem(f"{place}: {kind.kind} has no version {kind.version}; there are {', '.join(versions)}")
        schema = (versions[kind.version].get("schema") or {}).get("openAPIV3Schema") or ANYTHING
        return {**schema, "properties": {**(schema.get("properties") or {}), "metadata": ANYTHING}}
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
