"""Read the pod sets of an object by its descriptor: the template of each, and its number of pods."""

import copy
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from shared.api.core.pod import PodSpec
from shared.api.json.reading import without_nulls
from shared.api.names import MAIN_POD_SET, MAX_POD_SETS
from shared.kinds.expressions import ExpressionProblem
from shared.kinds.kind import Absent, Kind, PodSetRule
from shared.kinds.kind_object import KindPodSet, ObjectField, member_at
from shared.kinds.paths import MAX_MATCHES, Path, PathProblem, Pointer, compile_path, kind_of, show
from shared.kinds.values import MAX_COUNT, read_counts

_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
"""The values of labels: the name of a pod set becomes one."""


class _UnreadablePodSet(ValueError):
    """A field of a pod set that cannot be read; the message names it."""


def read_pod_sets(kind: Kind, root: Mapping[str, Any], problems: list[str]) -> tuple[KindPodSet, ...]:
    """Return the sets in the order of the descriptor, and add a message to `problems` for each that cannot be read."""
    found: list[KindPodSet] = []
    for rule in kind.pod_sets:
        try:
            places = list(islice(described_sets(rule, root), MAX_MATCHES))
        except (PathProblem, ExpressionProblem) as error:
            problems.append(str(error))
            continue
        if len(places) > MAX_POD_SETS:
            problems.append(f"it has {len(places)} pod sets at {rule.each.text}; at most {MAX_POD_SETS} start together")
            continue
        for place in places:
            try:
                found.append(_pod_set(rule, root, place))
            except (PathProblem, ExpressionProblem, _UnreadablePodSet) as error:
                problems.append(str(error))
    problems += _problems_together(found)
    return tuple(found)


def _problems_together(found: list[KindPodSet]) -> Iterator[str]:
    names = [each.name for each in found]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"it has {names.count(name)} pod sets of the name {name!r}; each needs a name of its own"
    if len(names) > MAX_POD_SETS:
        yield f"it has {len(names)} pod sets; at most {MAX_POD_SETS} start together"


class _Described(NamedTuple):
    """The description of a set, the value that the template's path starts from, and the pointers of both."""

    at: Pointer
    element: Any
    base: Pointer
    above: Any


def described_sets(rule: PodSetRule, root: Mapping[str, Any]) -> Iterator[_Described]:
    """Yield the descriptions of the sets that one entry of the descriptor stands for. Raises PathProblem."""
    for base, above in [((), root)] if rule.within is None else rule.within.matches(root):
        if rule.when is not None and not rule.when.holds(above, base):
            continue
        for place, element in rule.each.matches(above, base):
            yield _Described((*base, *place), element, base, above)


def _pod_set(rule: PodSetRule, root: Mapping[str, Any], where: _Described) -> KindPodSet:
    at, element = where.at, where.element
    if not isinstance(element, dict):
        raise _UnreadablePodSet(f"{show(at)} is {kind_of(element)}, not a mapping")
    name = _name(rule, element, at)
    count = _count(rule, element, at)
    template, place = _template(rule, where)
    added = None
    if template is None and rule.absent is not None:
        template = added = _absent(rule.absent, root)
    if template is None:
        raise _UnreadablePodSet(f"{show(place)} is absent; it must be a pod template")
    if not isinstance(template, dict):
        raise _UnreadablePodSet(f"{show(place)} is {kind_of(template)}, not a pod template")
    spec = _pod_spec(rule, template, root, place)
    metadata = template.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    source = root if added is None else _with_value(root, place, added)
    index = 0 if rule.each.is_single else at[-1]
    below = place if rule.into is None else (*where.base, *rule.into.pointer, index)
    return KindPodSet(
        name,
        count,
        spec,
        place,
        _texts(source, (*below, *rule.labels)),
        _texts(source, (*below, *rule.node_selector)),
        _mappings(source, (*below, *rule.tolerations)),
        dict(annotations) if isinstance(annotations, dict) else {},
        added,
        rule.made_by,
    )


def _name(rule: PodSetRule, element: Mapping[str, Any], at: Pointer) -> str:
    if rule.name_at is None:
        keys = [str(step) for step, kept in zip(at, _fixed(rule, at), strict=True) if not kept]
        name: Any = rule.name or "-".join(keys) or MAIN_POD_SET
    else:
        name = rule.name_at.get(element, at)
        at = (*at, *rule.name_at.pointer)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _UnreadablePodSet(
            f"{show(at)} is {kind_of(name)}; the name of a pod set is a label's value of 1 to 63 characters"
        )
    return name


def _fixed(rule: PodSetRule, at: Pointer) -> list[bool]:
    """Return for each step whether the descriptor names it: only the other steps, those of [*], differ between sets."""
    steps = [*(() if rule.within is None else rule.within.steps), *rule.each.steps]
    return [isinstance(step, str | int) for step in steps]


def _count(rule: PodSetRule, element: Mapping[str, Any], at: Pointer) -> int:
    values = read_counts(rule.values, element, at)
    try:
        count = rule.count.whole_number(values)
    except ExpressionProblem as error:
        raise _UnreadablePodSet(f"the number of pods of {show(at)} cannot be computed: {error}") from error
    if not 0 <= count <= MAX_COUNT:
        raise _UnreadablePodSet(
            f"the number of pods of {show(at)} is {kind_of(count)}; it must be from 0 to {MAX_COUNT}"
        )
    return count


def _template(rule: PodSetRule, where: _Described) -> tuple[Any, Pointer]:
    """Return the pod template and its pointer: below the element, or where the element says."""
    if rule.template_named_by is None:
        return rule.template.get(where.element, where.at), (*where.at, *rule.template.pointer)
    text = rule.template_named_by.get(where.element, where.at)
    path = _named_path(text, show((*where.at, *rule.template_named_by.pointer)))
    return path.get(where.above, where.base), (*where.base, *path.pointer)


def _named_path(text: Any, place: str) -> Path:
    if not isinstance(text, str):
        raise _UnreadablePodSet(f"{place} is {kind_of(text)}, not the path of a pod template")
    try:
        path = compile_path(text)
    except ValueError as error:
        raise _UnreadablePodSet(f"{place}: {error}") from error
    if not path.is_single:
        raise _UnreadablePodSet(f"{place} leads to several places; it must lead to one pod template")
    return path


def _absent(absent: Absent, root: Mapping[str, Any]) -> dict[str, Any]:
    template: Any = copy.deepcopy(dict(absent.template))
    for pointer, source in absent.copies:
        value = source.get(root)
        if value is not None:
            template = _with_value(template, pointer, value)
    result: dict[str, Any] = template
    return result


def _with_value(root: Any, at: Pointer, value: Any) -> Any:
    """Return a copy of `root` with the value at `at`; missing lists and mappings on the way are created."""
    if not at:
        return value
    step = at[0]
    if isinstance(step, int):
        items = list(root) if isinstance(root, list) else []
        items += [{}] * (step + 1 - len(items))
        items[step] = _with_value(items[step], at[1:], value)
        return items
    below = root if isinstance(root, dict) else {}
    return {**below, step: _with_value(below.get(step), at[1:], value)}


def _pod_spec(rule: PodSetRule, template: Mapping[str, Any], root: Mapping[str, Any], at: Pointer) -> PodSpec:
    if rule.reader is not None:
        written: Any = rule.reader(template, root, at)
    else:
        written = template.get("spec")
        at = (*at, "spec")
        if not isinstance(written, dict):
            raise _UnreadablePodSet(
                f"{show(at)} is {'absent' if written is None else kind_of(written)}; it must be a pod spec"
            )
    try:
        try:
            return msgspec.convert(written, PodSpec)
        except msgspec.ValidationError:
            return msgspec.convert(without_nulls(written), PodSpec)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _UnreadablePodSet(f"{show(at)} cannot be read: {error}") from error


def _texts(root: Any, at: Pointer) -> ObjectField:
    found = member_at(root, at)
    is_mapping = isinstance(found.value, dict)
    if found.value is not None and not (is_mapping and all(isinstance(each, str) for each in found.value.values())):
        raise _UnreadablePodSet(f"{show(at)} is no mapping of texts")
    return found


def _mappings(root: Any, at: Pointer) -> ObjectField:
    found = member_at(root, at)
    is_list = isinstance(found.value, list)
    if found.value is not None and not (is_list and all(isinstance(each, dict) for each in found.value)):
        raise _UnreadablePodSet(f"{show(at)} is no list of mappings")
    return found
