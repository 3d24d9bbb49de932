"""What Quotree adds to pod templates for a flavor, and how exactly that is taken out again.

Only what was added is recorded (the `injected` annotation), so that whatever the owner wrote stays as it was.

See docs/specification.md §5.3.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from shared.api.annotations import InjectedAnnotation, InjectedPlacement
from shared.api.core.placement import Placement, write_toleration
from shared.api.core.pod import PodSpec
from shared.api.json.patches import FieldPath, Operation, add, drop_members, remove, set_members

NOTHING: Final = InjectedAnnotation()


def without_injected(placement: Placement, injected: InjectedPlacement | None) -> Placement:
    """Return the placement as the owner wrote it."""
    if injected is None or not (injected.node_selector or injected.tolerations):
        return placement
    selector = {
        key: value for key, value in placement.node_selector.items() if injected.node_selector.get(key) != value
    }
    injected_tolerations: list[dict[str, Any]] = [{"operator": "Equal", **each} for each in injected.tolerations]
    tolerations = tuple(each for each in placement.tolerations if write_toleration(each) not in injected_tolerations)
    return Placement(MappingProxyType(selector), placement.affinity, tolerations)


def placement_operations(
    spec: PodSpec, old: InjectedPlacement | None, new: InjectedPlacement, path: FieldPath
) -> list[Operation]:
    """Return the operations that replace `old` by `new` in the pod spec at `path`; none if that is so already."""
    present: list[dict[str, Any]] = [msgspec.to_builtins(each) for each in spec.tolerations]
    return [
        *selector_operations(spec.node_selector, old or NOTHING, new, (*path, "nodeSelector")),
        *toleration_operations(present, old or NOTHING, new, (*path, "tolerations")),
    ]


def selector_operations(
    present: Mapping[str, str], old: InjectedPlacement, new: InjectedPlacement, at: FieldPath
) -> list[Operation]:
    """Return the same for the node selector at `at`, which is `present` now."""
    leaving = [
        key for key, value in old.node_selector.items() if present.get(key) == value and key not in new.node_selector
    ]
    if leaving and not new.node_selector and len(leaving) == len(present):
        return [remove(at)]
    return [*drop_members(at, present, leaving), *set_members(at, present or None, new.node_selector)]


def toleration_operations(
    present: Sequence[Mapping[str, Any]], old: InjectedPlacement, new: InjectedPlacement, at: FieldPath
) -> list[Operation]:
    """Return the same for the tolerations at `at`, which are `present` now."""
    injected_tolerations = [_normal(each) for each in old.tolerations]
    kept = [each for each in present if _normal(each) not in injected_tolerations]
    held = [_normal(each) for each in kept]
    wanted = [*kept, *(each for each in new.tolerations if _normal(each) not in held)]
    if [_normal(each) for each in wanted] == [_normal(each) for each in present]:
        return []
    return [add(at, wanted)] if wanted else [remove(at)]


def _normal(toleration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the toleration with its operator, which is Equal where it is absent."""
    return {"operator": "Equal", **toleration}
