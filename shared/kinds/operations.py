"""What a decision changes on an object of a governed kind, as JSON Patch operations: the flag, placement, labels.

Guards and Quotree's annotations are as for Jobs and stand elsewhere. Every function leaves out what is so already.
"""

from collections.abc import Iterable, Mapping

from shared.api.annotations import InjectedAnnotation
from shared.api.injection import selector_operations, toleration_operations
from shared.api.names import MAIN_POD_SET, POD_SET_LABEL, UNIT_LABEL
from shared.api.patches import Operation, add, pointer, set_members
from shared.kinds.kind_object import KindObject, KindPodSet, ObjectField
from shared.kinds.paths import Pointer


def suspend_operations(seen: KindObject, *, value: bool) -> list[Operation]:
    """Hold the object, or let it start."""
    if seen.suspend.value is value:
        return []
    return [*_parents([seen.suspend], set()), add(seen.suspend.at, value)]


def template_operations(
    seen: KindObject, old: InjectedAnnotation, new: InjectedAnnotation, unit: str = ""
) -> list[Operation]:
    """Take `old` out of every template and put `new` in; with `unit`, label every template with it and with its set.

    A template that the object lacks, as its operator would use it, is written whole first.
    """
    operations: list[Operation] = []
    made: set[Pointer] = set()
    for each in seen.pod_sets:
        name = set_name(seen, each)
        labels = {UNIT_LABEL: unit, POD_SET_LABEL: each.name} if unit else {}
        changed = [
            *_set_labels(each, labels),
            *selector_operations(each.node_selector.value or {}, old.of(name), new.of(name), each.node_selector.at),
            *toleration_operations(each.tolerations.value or [], old.of(name), new.of(name), each.tolerations.at),
        ]
        if not changed:
            continue
        if each.added is not None:
            operations.append(add(each.template, each.added))
        written = {operation["path"] for operation in changed}
        members = [each.labels, each.node_selector, each.tolerations]
        operations += [*_parents((each for each in members if _is_under(each, written)), made), *changed]
    return operations


def set_name(seen: KindObject, pod_set: KindPodSet) -> str:
    """Return what admissions and the `injected` annotation call the set: MAIN_POD_SET if the object has no other."""
    return MAIN_POD_SET if len(seen.pod_sets) == 1 else pod_set.name


def _set_labels(pod_set: KindPodSet, labels: Mapping[str, str]) -> list[Operation]:
    return set_members(pod_set.labels.at, pod_set.labels.value or None, labels)


def _is_under(member: ObjectField, written: Iterable[str]) -> bool:
    """Return whether one of the paths that are written is the member's or below it."""
    at = pointer(member.at)
    return any(path == at or path.startswith(f"{at}/") for path in written)


def _parents(places: Iterable[ObjectField], made: set[Pointer]) -> list[Operation]:
    """Make what is missing above these places and is not `made` yet, which grows."""
    operations: list[Operation] = []
    for place in places:
        for length in range(place.present + 1, len(place.at)):
            at = place.at[:length]
            if at not in made:
                made.add(at)
                operations.append(add(at, [] if isinstance(place.at[length], int) else {}))
    return operations
