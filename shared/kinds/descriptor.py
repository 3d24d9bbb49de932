"""The entries of `kinds:` in the settings: the keys of a descriptor, and the checks of each.

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
"""The names of the shipped descriptors: `presets/NAME.yaml`."""
BUILT_IN_KINDS: Final = ("Job", "Pod", "PodGroup")
"""The kinds of workloads that need no descriptor. Claims and commands know a workload by its kind and name."""
MAX_POD_SETS_ENTRIES: Final = 8
MAX_PREDICATES: Final = 32
LEAVE_OUT: Final = "leave this entry out, and the pods of its objects are governed one by one"


def single_path(text: str) -> Path:
    """Compile a path without [*]. Raises ValueError."""
    path = compile_path(text)
    if not path.is_single:
        raise ValueError(f"{text!r} leads to several places; [*] stands in `each` and in `values` alone")
    return path


def _check_suspend(path: Path) -> None:
    """Raise KeyProblem unless the path is plain member names below spec: the chart's admission policy reads it, too."""
    steps = path.pointer
    if len(steps) < 2 or steps[0] != "spec" or any(not str(each).isidentifier() for each in steps):
        raise KeyProblem("suspend", f"{path.text!r} is no member below .spec, such as .spec.runPolicy.suspend")


def _is_api_version(text: str) -> bool:
    group, slash, version = text.partition("/")
    return bool(slash and group and version) and "/" not in version


def _compiled(key: str, compile_it: Callable[..., T], text: Any) -> T:
    """Compile the value of `key`. Raises KeyProblem of that key."""
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
    """A predicate: `condition` (with `status`), `path` (with `in` or `present`), or `expression` (with `values`)."""

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
        """Return the compiled predicate. Raises KeyProblem."""
        given = [name for name in ("condition", "path", "expression") if getattr(self, name)]
        if len(given) != 1:
            raise KeyProblem("", f"give one of condition, path, expression; given: {', '.join(given) or 'none'}")
        if self.condition:
            return HasCondition(self.condition, self.status)
        if self.path:
            if bool(self.among) == (self.present is not None):
                raise KeyProblem("path", "give either `in` or `present` with it")
            if self.present is None:
                return IsAmong(_compiled("path", compile_value, self.path), frozenset(self.among))
            return IsPresent(_compiled("path", compile_path, self.path), self.present)
        values = _compiled("values", compile_values, self.values)
        expression = _compiled("expression", lambda text: compile_expression(text, frozenset(values)), self.expression)
        return Computed(expression, values)


class RefuseEntry(PredicateEntry, frozen=True):
    """Objects that cannot be governed as a whole: why, and what their owner can do.

    `each`: the path of the values that the predicate is asked of; by default the object itself.
    """

    each: str = ""
    because: str = ""
    remedy: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("because", "remedy"):
            if not getattr(self, key):
                raise KeyProblem(key, "is missing: a refusal says why, and what its owner can do")
        _compiled("each", compile_path, self.each)


class AbsentEntry(_Entry, frozen=True):
    """The pod template that the operator uses where the object has none; `copy`: path in it -> path in the object."""

    template: dict[str, Any]
    copy: dict[str, str] = {}

    def __post_init__(self) -> None:
        for to, source in self.copy.items():
            _compiled("copy", single_path, to)
            _compiled("copy", single_path, source)


class InjectEntry(_Entry, frozen=True):
    """Where labels, the node selector and tolerations are written: paths below the pod set's template.

    `into`: the path of a list below `within`; its items, in the order of `each`, take the template's place.
    """

    into: str = ""
    labels: str = ".metadata.labels"
    node_selector: str = ".spec.nodeSelector"
    tolerations: str = ".spec.tolerations"

    def __post_init__(self) -> None:
        _compiled("into", single_path, self.into)
        for key in ("labels", "node_selector", "tolerations"):
            if not _compiled(_camel(key), single_path, getattr(self, key)).steps:
                raise KeyProblem(_camel(key), "is empty; write a path such as .spec.nodeSelector")


class PodSetEntry(_Entry, frozen=True):
    """One or several sets of equal pods.

    `each`: the path of the set's description, below `within` if that is given; by default the object itself.
    `name`: a name, or a path below `each`; by default the keys that its [*] match, joined by "-".
    `template`: the path of the pod template below `each`.
    `templateNamedBy`: the path below `each` of a text, which is the path of the template below `within`.
    `reader`: the name of a reader, for kinds without pod templates.
    `count`: the number of pods, an expression over `values`.
    `when`: a predicate about the object, or about each `within`; where it is false there is no such set.
    `madeBy`: the name of the set whose pods make these pods; by default the operator makes them.
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
    made_by: str = ""
    absent: AbsentEntry | None = None
    inject: InjectEntry = InjectEntry()

    def __post_init__(self) -> None:
        each = _compiled("each", compile_path, self.each)
        if self.within:
            _compiled("within", compile_path, self.within)
        if self.name.startswith("."):
            _compiled("name", single_path, self.name)
        _compiled("template", single_path, self.template)
        if self.template_named_by:
            _compiled("templateNamedBy", single_path, self.template_named_by)
            if not self.within:
                raise KeyProblem("templateNamedBy", "needs `within`: where the named path begins")
        if self.inject.into and not (self.within and (each.is_single or each.text.endswith("[*]"))):
            raise KeyProblem("inject", "`into` needs `within`, and [*] must stand at the end of `each`")
        if self.reader and self.reader not in READERS:
            raise KeyProblem("reader", f"{self.reader!r} is none; there are {', '.join(sorted(READERS))}")
        values = _compiled("values", compile_values, self.values)
        _compiled("count", lambda text: compile_expression(text, frozenset(values)), self.count)


class ChildEntry(_Entry, frozen=True):
    """A kind of object that the operator makes for a started workload."""

    api_version: Name
    kind: Name
    resource: Name


class GateEntry(_Entry, frozen=True):
    """For kinds without a suspend flag: the label and annotation by which their pods name their group and its size.

    `groups`: the number of groups that an object makes; the pod sets are those of one group.
    """

    group_label: Name
    size_annotation: Name
    groups: str = ".spec.replicas | 1"

    def __post_init__(self) -> None:
        _compiled("groups", compile_value, self.groups)


class KindEntry(_Entry, frozen=True):
    """An entry of `kinds:`; with `preset`, its other keys replace those of the preset.

    One of three keys says how an object is held: `suspend`, the path of its flag; `gate`, by the gates of its pods;
    `through`, the governed kind of which its operator makes one object for each.
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
            _check_suspend(_compiled("suspend", single_path, self.suspend))
        if self.api_version and not _is_api_version(self.api_version):
            raise KeyProblem("apiVersion", f"{self.api_version!r} is none; write group/version")
        if not self.preset:
            self.check_whole()
        elif self.preset not in PRESETS:
            raise KeyProblem("preset", f"{self.preset!r} is none; there are {', '.join(PRESETS)}")

    def check_whole(self) -> None:
        """Check that no key is missing. Raises KeyProblem."""
        for key in ("api_version", "kind", "resource"):
            if not getattr(self, key):
                raise KeyProblem(_camel(key), "is missing")
        given = [key for key in ("suspend", "gate", "through") if getattr(self, key)]
        if len(given) != 1:
            raise KeyProblem("suspend", f"give one of suspend, gate, through; given: {', '.join(given) or 'none'}")
        if not self.through and self.kind.lower() in (each.lower() for each in BUILT_IN_KINDS):
            why = "workloads are distinguished by kind and name, and batch Jobs, Pods and PodGroups need no entry"
            raise KeyProblem("kind", f"{self.kind} of {self.api_version} is ambiguous: {why}; {LEAVE_OUT}")
        if self.suspend and not self.pod_sets:
            raise KeyProblem("podSets", "is missing: where the pods are described")
        if len(self.pod_sets) > MAX_POD_SETS_ENTRIES:
            raise KeyProblem("podSets", f"has {len(self.pod_sets)} entries; at most {MAX_POD_SETS_ENTRIES}")
        for each in self.pod_sets:
            if each.made_by and each.made_by not in {other.name for other in self.pod_sets if not other.made_by}:
                raise KeyProblem("madeBy", f"{each.made_by!r} is no name of a set that the operator makes")
        for key in ("noted", "stopped", "finished", "skip", "refuse", "operators", "children"):
            if len(getattr(self, key)) > MAX_PREDICATES:
                raise KeyProblem(key, f"has {len(getattr(self, key))} entries; at most {MAX_PREDICATES}")


def over_preset(preset: KindEntry, given: KindEntry) -> KindEntry:
    """Return the preset with the keys of `given` in place of its own."""
    changed = {
        field.name: getattr(given, field.name)
        for field in msgspec.structs.fields(KindEntry)
        if field.name != "preset" and getattr(given, field.name) != field.default
    }
    return msgspec.structs.replace(preset, **changed)
