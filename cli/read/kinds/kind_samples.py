"""Shows what a descriptor reads from an object, and what Quotree would write to it, without a cluster."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import jsonpatch

from cli.read.manifests import Manifest, read_manifests
from shared.api.annotations import InjectedAnnotation, InjectedPlacement
from shared.api.injection import NOTHING
from shared.api.json.patches import Operation
from shared.api.json.reading import Unreadable
from shared.api.names import MAIN_POD_SET
from shared.kinds.descriptor import KindEntry
from shared.kinds.kind import Kind, Kinds, PodSetRule, compile_kind
from shared.kinds.kind_object import KindObject
from shared.kinds.operations import set_name, suspend_operations, template_operations
from shared.kinds.pod_sets import described_sets
from shared.kinds.presets import all_presets, resolve
from shared.kinds.reading import read_kind_object
from shared.problems import Problem
from shared.quota.model.namespace_context import NamespaceContext
from shared.quota.model.read.jobs import pod_request_of, times
from shared.quota.model.settings import QuotaSettings
from shared.quota.model.tree import Amounts
from shared.resources import QuantityError

EXAMPLE_LABEL: Final = "example.com/flavor"
"""The node label and the taint of the flavors that samples are started on: one for each pod set, named like it."""
EXAMPLE_UID: Final = "00000000-0000-0000-0000-000000000000"
"""The uid of a sample that has none."""


@dataclass(frozen=True, slots=True)
class SampleSet:
    """One pod set of a sample: its pods, and what one and all of them request."""

    name: str
    pods: int
    one: Amounts
    all: Amounts
    at: str


@dataclass(frozen=True, slots=True)
class Sample:
    """What was read, its problems, and the object as given, held and started."""

    name: str
    where: str
    kind: Kind
    seen: KindObject | None
    sets: tuple[SampleSet, ...]
    problems: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    """What is read without a problem, but might not be what was meant."""
    hold: tuple[Operation, ...] = ()
    start: tuple[Operation, ...] = ()
    before: dict[str, Any] | None = None
    held: dict[str, Any] | None = None
    started: dict[str, Any] | None = None

    @property
    def is_governed(self) -> bool:
        """Whether it could be governed, or is not Quotree's."""
        refused = self.seen is not None and bool(self.seen.refusals)
        return not (self.problems or refused)


def read_descriptors(file: str) -> Kinds:
    """Return the kinds of a file: a settings file with `kinds:`, or one descriptor. Raises SettingsProblem."""
    from shared.process.common_settings import KindsFile
    from shared.process.settings import has_key, load_part, load_settings

    if has_key(file, "kinds"):
        return load_part(file, KindsFile, "kinds").governed
    return Kinds.of([compile_kind(resolve(load_settings(file, KindEntry)))])


def descriptors_of(name: str) -> Kinds:
    """Return the kind of a preset of this name, else those of the file of this name."""
    found = [kind for kind in all_presets().all if kind.kind.lower() == name]
    return Kinds.of(found) if found else read_descriptors(name)


def read_samples(kinds: Kinds, files: tuple[str, ...]) -> list[Sample]:
    """Read every object of these kinds in the files. Raises Problem when there is none."""
    found = [(manifest, kinds.find(manifest.api_version, manifest.kind)) for manifest in read_manifests(files)]
    samples = [_sample(manifest, kind) for manifest, kind in found if kind is not None]
    if not samples:
        wanted = ", ".join(f"{kind.api_version} {kind.kind}" for kind in kinds.all)
        raise Problem(f"there is no object of {wanted} in {', '.join(files)}")
    return samples


def _sample(manifest: Manifest, kind: Kind) -> Sample:
    where = f"{manifest.file}:{manifest.line}"
    try:
        seen = read_kind_object(kind, manifest.body)
        sets, problems = _sets(seen), seen.problems
    except (Unreadable, QuantityError) as error:
        return Sample(manifest.label, where, kind, None, (), (str(error),))
    warnings = () if problems else tuple(_warnings(kind, manifest.body, sets))
    if problems or seen.skipped or seen.refusals or not kind.suspend:
        return Sample(manifest.label, where, kind, seen, sets, problems, warnings)
    hold = suspend_operations(seen, value=True)
    held = _patched(manifest.body, hold)
    start = _start(read_kind_object(kind, held))
    started = _patched(held, start)
    return Sample(
        manifest.label, where, kind, seen, sets, problems, warnings, tuple(hold), tuple(start), manifest.body, held,
        started,
    )  # fmt: skip


def _warnings(kind: Kind, body: dict[str, Any], sets: tuple[SampleSet, ...]) -> Iterator[str]:
    for at, rule in enumerate(kind.pod_sets):
        if not any(described_sets(rule, body)) and (rule.when is None or _holds_anywhere(rule, body)):
            places = rule.each.text if rule.within is None else f"{rule.within.text} {rule.each.text}"
            yield f"podSets[{at}].each {places} matches nothing in this object: these pods are not counted"
    yield from (f"pod set {each.name} is empty: its count is 0" for each in sets if not each.pods)


def _holds_anywhere(rule: PodSetRule, body: dict[str, Any]) -> bool:
    """Return whether the set is wanted for some of the object."""
    above = [((), body)] if rule.within is None else rule.within.matches(body)
    return rule.when is not None and any(rule.when.holds(value, place) for place, value in above)


def _sets(seen: KindObject) -> tuple[SampleSet, ...]:
    return tuple(
        SampleSet(each.name, each.count, one, times(one, each.count), "/" + "/".join(map(str, each.template)))
        for each in seen.pod_sets
        for one in [pod_request_of(each.spec, NamespaceContext(), QuotaSettings())]
    )


def _start(held: KindObject) -> list[Operation]:
    """Return the patch that starts it in flavors with a node label and a taint, one flavor for each pod set."""
    placed = {set_name(held, each): _example(each.name) for each in held.pod_sets}
    only = placed.get(MAIN_POD_SET)
    several = InjectedAnnotation(pod_sets=placed)
    injected = several if only is None else InjectedAnnotation(only.node_selector, only.tolerations)
    unit = held.metadata.uid or EXAMPLE_UID
    return [*suspend_operations(held, value=False), *template_operations(held, NOTHING, injected, unit)]


def _example(flavor: str) -> InjectedPlacement:
    tolerations = [{"key": EXAMPLE_LABEL, "operator": "Equal", "value": flavor, "effect": "NoSchedule"}]
    return InjectedPlacement({EXAMPLE_LABEL: flavor}, tolerations)


def _patched(body: dict[str, Any], operations: list[Operation]) -> dict[str, Any]:
    patched: dict[str, Any] = jsonpatch.apply_patch(body, operations)
    return patched
