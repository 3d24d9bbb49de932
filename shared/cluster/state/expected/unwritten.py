"""Annotations that the API server refuses to store because the object is full; they are kept in memory instead. Pure.

An owner can fill an object's annotations up to the API server's limit. What Quotree would write on it (a notice, an
adoption, why it was evicted, its back-off) then counts as if it were written, until a later write succeeds, the object
is gone, or the process ends.
"""

from collections.abc import Mapping, Sequence

import msgspec

from shared.cluster.state.sorts.registry import sort_of
from shared.cluster.state.sorts.sort import WorkloadObject

AnnotationPatch = Mapping[str, str | None]
"""annotation -> text; None: remove it."""


class UnwrittenAnnotations:
    """By workload key. `over` costs nothing for a workload that has none."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, str | None]] = {}

    def keep(self, key: str, annotations: AnnotationPatch) -> None:
        """Count these as written on every object of the workload."""
        self._kept[key] = {**self._kept.get(key, {}), **annotations}

    def drop(self, key: str, names: AnnotationPatch | None = None) -> None:
        """Drop these, because they are written or obsolete; without `names`: all of the workload."""
        kept = self._kept.pop(key, None)
        if kept and names is not None:
            rest = {name: text for name, text in kept.items() if name not in names}
            if rest:
                self._kept[key] = rest

    def over(self, key: str, objects: Sequence[WorkloadObject]) -> Sequence[WorkloadObject]:
        """Return the objects as if these annotations were written on them."""
        kept = self._kept.get(key)
        if kept is None:
            return objects
        replaced: list[WorkloadObject] = []
        for each in objects:
            texts = {**each.metadata.annotations, **kept}
            annotations = {name: text for name, text in texts.items() if text is not None}
            metadata = msgspec.structs.replace(each.metadata, annotations=annotations)
            replaced.append(sort_of(each).with_metadata(each, metadata))
        return replaced
