"""One group's pending workloads by shape; immutable, and cheap to change by one workload also with 50,000 shapes.

Many shapes lie in many parts. A change makes another object of the parts that it is about: what is computed of each
part, and looked up by its identity, is computed again for these alone.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Final, NamedTuple

from shared.quota.model.eligibility import Shape, shape_of
from shared.quota.model.workload import Workload

ShapeChange = tuple[Workload, int]
"""A workload that comes to count (1), or counts no longer (-1)."""

PARTS: Final = 256
MOST_IN_ONE: Final = 512
"""With more shapes, there are so many parts."""


class ShapeCount(NamedTuple):
    """The pending workloads of one shape: when each was queued, the oldest first, and one of them."""

    queued: tuple[datetime, ...]
    example: Workload

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self.queued)


SomeShapes = Mapping[Shape, ShapeCount]


class Shapes(NamedTuple):
    """Pending workloads by shape."""

    parts: tuple[SomeShapes, ...] = ({},)

    def items(self) -> Iterator[tuple[Shape, ShapeCount]]:
        """Yield every shape that some workload has, and its workloads."""
        return chain.from_iterable(part.items() for part in self.parts)

    def after(self, counts: Iterable[ShapeChange]) -> "Shapes":
        """Return the shapes after these changes; parts that nothing changes are the same objects."""
        changed: dict[Shape, tuple[list[datetime], Workload]] = {}
        parts: dict[int, dict[Shape, ShapeCount]] = {}
        for workload, times in counts:
            shape = shape_of(workload)
            if shape not in changed:
                place = hash(shape) % len(self.parts)
                part = parts.get(place)
                part = parts[place] = dict(self.parts[place]) if part is None else part
                known = part.get(shape)
                changed[shape] = ([], workload) if known is None else (list(known.queued), known.example)
            queued, _ = changed[shape]
            if times > 0:
                insort(queued, workload.queued)
            else:
                del queued[bisect_left(queued, workload.queued)]
        for shape, (queued, example) in changed.items():
            part = parts[hash(shape) % len(self.parts)]
            if queued:
                part[shape] = ShapeCount(tuple(queued), example)
            else:
                part.pop(shape, None)
        if not parts:
            return self
        after = tuple([parts.get(place, part) for place, part in enumerate(self.parts)])
        return _split(after[0]) if len(after) == 1 and len(after[0]) > MOST_IN_ONE else Shapes(after)


NO_SHAPES: Final = Shapes()


def _split(shapes: SomeShapes) -> Shapes:
    """Return these shapes in many parts."""
    found: tuple[dict[Shape, ShapeCount], ...] = tuple([{} for _ in range(PARTS)])
    for shape, each in shapes.items():
        found[hash(shape) % PARTS][shape] = each
    return Shapes(found)
