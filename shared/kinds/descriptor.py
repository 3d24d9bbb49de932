"""What the settings say about a kind: the keys of an entry of `kinds:`, and the checks of each.

Every mistake is a KeyProblem, which the reader of settings shows with file, line and key.

See docs/specification.md §13.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar

import msgspec

from shared.kinds.expressions import compile_expression
from shared.kinds.paths import Path, compile_path
from shared.kinds.predicates import Computed, HasCondition, IsAmong, IsPresent, Predicate
from shared.kinds.readers import READERS
from shared.kinds.values import compile_value, compile_values
from shared.problems import KeyProblem

T = TypeVar("T")
Name = Annotated[str, msgspec.Meta(max_length=253)]
PRESETS: Final = (
    "jobset",
    "raycluster",
    "rayjob",
    "pytorchjob",
    "tfjob",
    "mpijob",
    "trainjob",
    "leaderworkerset",
    "appwrapper",
    "sparkapplication",
)
"""The descriptors that are shipped, by the names of their files."""
MAX_POD_SETS_ENTRIES: Final = 8
MAX_PREDICATES: Final = 32


def single_path(text: str) -> Path:
    """Return a path that leads to one place. Raises ValueError."""
    path = compile_path(text)
    if not path.is_single:
        raise ValueError(f"{text!r} leads to several places; [*] stands in `each` and in `values` alone")
    return path


def _check_suspend(path: Path) -> None:
    """The chart's admission policy reads this path too, so it has plain member names alone, below spec."""
    steps = path.pointer
    if len(steps) < 2 or steps[0] != "spec" or any(not str(each).isidentifier() for each in steps):
        raise KeyProblem("suspend", f"{path.text!r} is no member below .spec, such as .spec.runPolicy.suspend")


def _is_api_version(text: str) -> bool:
    group, slash, version = text.partition("/")
    return bool(slash and group and version) and "/" not in version


def _of(key: str, compile_it: Callable[..., T], text: Any) -> T:
    """Compile what stands under `key`; a mistake becomes one of that key."""
    try:
        return compile_it(text)
    except ValueError as error:
        raise KeyProblem(key, str(error)) from None


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


class _Entry(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """Base of everything in `kinds:`."""


class PredicateEntry(_Entry, frozen=True):
    """A question: `condition` (with `status`), `path` (with `in` or `present`), or `expression` (with `values`)."""

    condition: str = ""
    status: str = "True"
    path: str = ""
    among: tuple[str, ...] = msgspec.field(default=(), name="in")
    present: bool | None = None
    expression: str = ""
    values: dict[str, str] = {}

    def __post_init__(self) -> None:
        self.compiled()

    def compiled(self) -> Predicate:
        """Return the question, to be asked. Raises KeyProblem."""
        given = [name for name in ("condition", "path", "expression") if getattr(self, name)]
        if len(given) != 1:
            raise KeyProblem("", f"give one of condition, path, expression; given: {', '.join(given) or 'none'}")
        if self.condition:
            return HasCondition(self.condition, self.status)
        if self.path:
            if bool(self.among) == (self.present is not None):
                raise KeyProblem("path", "give either `in` or `present` with it")
            if self.present is None:
                return IsAmong(_of("path", compile_value, self.path), frozenset(self.among))
            return IsPresent(_of("path", compile_path, self.path), self.present)
        values = _of("values", compile_values, self.values)
        expression = _of("expression", lambda text: compile_expression(text, frozenset(values)), self.expression)
        return Computed(expression, values)


class RefuseEntry(PredicateEntry, frozen=True):
    """Objects that cannot be governed whole: why, and what their owner can do. `each`: asked of each of these."""

    each: str = ""
    because: str = ""
    remedy: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("because", "remedy"):
            if not getattr(self, key):
                raise KeyProblem(key, "is missing: a refusal says why, and what its owner can do")
        _of("each", compile_path, self.each)


class AbsentEntry(_Entry, frozen=True):
    """The pod template that the operator uses where the object has none; `copy`: place in it -> path in the object."""

    template: dict[str, Any]
    copy: dict[str, str] = {}

    def __post_init__(self) -> None:
        for to, source in self.copy.items():
            _of("copy", single_path, to)
            _of("copy", single_path, source)


class InjectEntry(_Entry, frozen=True):
    """Where labels, the node selector and tolerations are written, as paths from the pod set's template.

    `into`: they are written into the items of this list below `within` instead, in the order of `each`.
    """

    into: str = ""
    labels: str = ".metadata.labels"
    node_selector: str = ".spec.nodeSelector"
    tolerations: str = ".spec.tolerations"

    def __post_init__(self) -> None:
        _of("into", single_path, self.into)
        for key in ("labels", "node_selector", "tolerations"):
            if not _of(_camel(key), single_path, getattr(self, key)).steps:
                raise KeyProblem(_camel(key), "is empty; write a path such as .spec.nodeSelector")


class PodSetEntry(_Entry, frozen=True):
    """One or several sets of pods that are alike.

    `each`: where the sets are described, from `within` if that is given; absent: in the object itself. `name`: a path
    in what `each` leads to, or a name; absent: what its [*] stand for, joined by "-". `template`: the pod template
    below it. `templateNamedBy`: a path there whose text is the path of the template below `within`. `reader`: for kinds
    without templates. `count` is an expression over `values`. `when`: asked of the object, or of each `within`.
    """

    each: str = "."
    within: str = ""
    name: str = ""
    template: str = ".template"
    template_named_by: str = ""
    reader: str = ""
    values: dict[str, str] = {}
    count: str = "1"
    when: PredicateEntry | None = None
    absent: AbsentEntry | None = None
    inject: InjectEntry = InjectEntry()

    def __post_init__(self) -> None:
        each = _of("each", compile_path, self.each)
        if self.within:
            _of("within", compile_path, self.within)
        if self.name.startswith("."):
            _of("name", single_path, self.name)
        _of("template", single_path, self.template)
        if self.template_named_by:
            _of("templateNamedBy", single_path, self.template_named_by)
            if not self.within:
                raise KeyProblem("templateNamedBy", "needs `within`: where the named path begins")
        if self.inject.into and not (self.within and (each.is_single or each.text.endswith("[*]"))):
            raise KeyProblem("inject", "`into` needs `within`, and [*] must stand at the end of `each`")
        if self.reader and self.reader not in READERS:
            raise KeyProblem("reader", f"{self.reader!r} is none; there are {', '.join(sorted(READERS))}")
        values = _of("values", compile_values, self.values)
        _of("count", lambda text: compile_expression(text, frozenset(values)), self.count)


class ChildEntry(_Entry, frozen=True):
    """A kind of object that the operator makes for a started workload."""

    api_version: Name
    kind: Name
    resource: Name


class GateEntry(_Entry, frozen=True):
    """For kinds that nothing suspends: how their pods say which of them start together, and how many these are.

    `groups`: where an object says how many such groups it makes; the pod sets are those of one group.
    """

    group_label: Name
    size_annotation: Name
    groups: str = ".spec.replicas | 1"

    def __post_init__(self) -> None:
        _of("groups", compile_value, self.groups)


class KindEntry(_Entry, frozen=True):
    """An entry of `kinds:`; with `preset`, what else is given replaces what the preset says.

    One of three says how it is held: `suspend`, where the flag stands; `gate`, by the gates of its pods; `through`, by
    another governed kind, of which its operator makes an object for each of it.
    """

    preset: str = ""
    api_version: Name = ""
    kind: Name = ""
    resource: Name = ""
    suspend: str = ""
    gate: GateEntry | None = None
    through: Name = ""
    pod_sets: tuple[PodSetEntry, ...] = ()
    noted: tuple[PredicateEntry, ...] = ()
    stopped: tuple[PredicateEntry, ...] = ()
    finished: tuple[PredicateEntry, ...] = ()
    skip: tuple[PredicateEntry, ...] = ()
    refuse: tuple[RefuseEntry, ...] = ()
    operators: tuple[Name, ...] = ()
    children: tuple[ChildEntry, ...] = ()

    def __post_init__(self) -> None:
        if self.suspend:
            _check_suspend(_of("suspend", single_path, self.suspend))
        if self.api_version and not _is_api_version(self.api_version):
            raise KeyProblem("apiVersion", f"{self.api_version!r} is none; write group/version")
        if not self.preset:
            self.check_whole()
        elif self.preset not in PRESETS:
            raise KeyProblem("preset", f"{self.preset!r} is none; there are {', '.join(PRESETS)}")

    def check_whole(self) -> None:
        """Whether it says all that a kind needs. Raises KeyProblem."""
        for key in ("api_version", "kind", "resource"):
            if not getattr(self, key):
                raise KeyProblem(_camel(key), "is missing")
        given = [key for key in ("suspend", "gate", "through") if getattr(self, key)]
        if len(given) != 1:
            raise KeyProblem("suspend", f"give one of suspend, gate, through; given: {', '.join(given) or 'none'}")
        if self.suspend and not self.pod_sets:
            raise KeyProblem("podSets", "is missing: where the pods are described")
        if len(self.pod_sets) > MAX_POD_SETS_ENTRIES:
            raise KeyProblem("podSets", f"has {len(self.pod_sets)} entries; at most {MAX_POD_SETS_ENTRIES}")
        for key in ("noted", "stopped", "finished", "skip", "refuse", "operators", "children"):
            if len(getattr(self, key)) > MAX_PREDICATES:
                raise KeyProblem(key, f"has {len(getattr(self, key))} entries; at most {MAX_PREDICATES}")


def over_preset(preset: KindEntry, given: KindEntry) -> KindEntry:
    """Return the preset, with what is given in its place."""
    changed = {
        field.name: getattr(given, field.name)
        for field in msgspec.structs.fields(KindEntry)
        if field.name != "preset" and getattr(given, field.name) != field.default
    }
    return msgspec.structs.replace(preset, **changed)
