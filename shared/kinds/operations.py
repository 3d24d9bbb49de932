"""The JSON Patch operations on an object of a governed kind: the suspend flag, placement, labels.

`test` operations and Quotree's annotations are those of Jobs (reconciler/write). A field that already
has its value gets no operation.
"""

from collections.abc import Iterable, Mapping

from shared.api.annotations import InjectedAnnotation
from shared.api.injection import selector_operations, toleration_operations
from shared.api.json.patches import Operation, add, pointer, set_members
from shared.api.names import MAIN_POD_SET, POD_SET_LABEL, UNIT_LABEL
from shared.kinds.kind_object import KindObject, KindPodSet, ObjectField
from shared.kinds.paths import Pointer


def suspend_operations(target: KindObject, *, value: bool) -> list[Operation]:
    """Set the flag that holds the object, or lets it start."""
    if target.suspend.value is value:
        return []
    return [*_parents([target.suspend], set()), add(target.suspend.at, value)]


def template_operations(
    target: KindObject, old: InjectedAnnotation, new: InjectedAnnotation, unit: str = ""
) -> list[Operation]:
    """Replace `old` by `new` in every template; with `unit`, label every template with it and with the name of its set.

    A template that the object lacks is first written as its operator would use it.
    """
    operations: list[Operation] = []
    made: set[Pointer] = set()
    for each in target.pod_sets:
        name = set_name(target, each)
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


def set_name(target: KindObject, pod_set: KindPodSet) -> str:
    """Return the set's name in admissions and in the `injected` annotation: MAIN_POD_SET if it is the only one."""
    return MAIN_POD_SET if len(target.pod_sets) == 1 else pod_set.name


def _set_labels(pod_set: KindPodSet, labels: Mapping[str, str]) -> list[Operation]:
    return set_members(pod_set.labels.at, pod_set.labels.value or None, labels)


def _is_under(member: ObjectField, written: Iterable[str]) -> bool:
    """Return whether one of the written paths is the member's or below it."""
    at = pointer(member.at)
    return any(path == at or path.startswith(f"{at}/") for path in written)


def _parents(places: Iterable[ObjectField], made: set[Pointer]) -> list[Operation]:
    """Create the missing lists and mappings above these places, except those in `made`, to which they are added."""
    operations: list[Operation] = []
    for place in places:
        for length in range(place.present + 1, len(place.at)):
            at = place.at[:length]
            if at not in made:
                made.add(at)
                operations.append(add(at, [] if isinstance(place.at[length], int) else {}))
    return operations
