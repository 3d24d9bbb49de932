"""The tree that Volcano's queues name by annotation: `volcano.sh/hierarchy: root/eng/prod`, with weights.

Only queues are objects in Volcano; the steps above them become groups here.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from cli.convert.conversion import Conversion, where
from cli.convert.draft import NamedParent, QuotaGroupDraft
from cli.convert.weights import Weights
from cli.read.manifests import Manifest
from shared.problems import Problem

HIERARCHY: Final = "volcano.sh/hierarchy"
WEIGHTS: Final = "volcano.sh/hierarchy-weights"
_SEPARATOR: Final = "/"


def hierarchy_of(manifest: Manifest) -> str:
    """Return the path of a queue, or "" for one without."""
    return str(_annotations(manifest).get(HIERARCHY) or "")


class Hierarchy:
    """The groups of the steps above queues."""

    def __init__(self, made: Conversion, weights: Weights) -> None:
        self._made = made
        self._weights = weights
        self._inner: dict[str, NamedParent] = {}

    def add(self, manifest: Manifest, draft: QuotaGroupDraft) -> list[NamedParent]:
        """Return the queue's group below its step, and those of the steps that are new. Raises Problem."""
        steps = hierarchy_of(manifest).split(_SEPARATOR)
        written = str(_annotations(manifest).get(WEIGHTS) or "")
        weights = written.split(_SEPARATOR) if written else ["1"] * len(steps)
        if len(weights) != len(steps):
            place = f"metadata.annotations[{WEIGHTS}]"
            text = f"{written} has {len(weights)} weights, {HIERARCHY} has {len(steps)} steps; write one for each"
            raise Problem(f"{where(manifest, place)}: {text}")
        paths = [_SEPARATOR.join(steps[: at + 1]) for at in range(len(steps))]
        added = []
        for (above, path), weight in zip(pairwise(paths[:-1]), weights[1:-1], strict=True):
            if path not in self._inner:
                inner = self._made.add_group(manifest, path.rpartition(_SEPARATOR)[2], "queue", is_parent=True)
                self._weights.add(manifest, inner, weight)
                self._inner[path] = NamedParent(inner, path, above)
                added.append(self._inner[path])
        self._weights.add(manifest, draft, weights[-1])
        return [*added, NamedParent(draft, manifest.name, paths[-2] if len(paths) > 1 else "")]


def _annotations(manifest: Manifest) -> Mapping[str, object]:
    return manifest.body["metadata"].get("annotations") or {}
