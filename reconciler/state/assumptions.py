"""What was decided but is not yet seen: each decision counts from the moment it is made. Pure.

An assumption ends when the watch shows every object past its write (the generation has moved, the object bears the
written annotation, or it is gone), or when the write is known to have failed. What refused writes taught about an
object is a doubt; it is true until the object's spec changes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from shared.api.core.metadata import Metadata
from shared.quota.model.workload import Workload

Mark = tuple[str, str | None]
"""(annotation, text): how a write is recognised on its object; None: the annotation is gone."""


@dataclass(slots=True)
class Assumption:
    """A workload as writes under way will make it; `unseen`: uid -> generation before its write."""

    workload: Workload
    mark: Mark
    unseen: dict[str, int]


@dataclass(frozen=True, slots=True)
class WriteFailure:
    """Leave the work alone until then; do not offer it these flavors."""

    generation: int
    not_before: datetime | None = None
    blocked_flavors: frozenset[str] = frozenset()


@dataclass(slots=True)
class Assumptions:
    """All of them, by unit of work."""

    _assumed: dict[str, Assumption] = field(default_factory=dict)
    _doubts: dict[str, WriteFailure] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._assumed)

    def __contains__(self, unit: str) -> bool:
        return unit in self._assumed

    def get(self, unit: str) -> Workload | None:
        """The workload as assumed, or None."""
        assumed = self._assumed.get(unit)
        return None if assumed is None else assumed.workload

    def make(self, unit: str, workload: Workload, mark: Mark, objects: Iterable[Metadata]) -> None:
        """Assume `workload`, until all of `objects` are seen past their write."""
        self._assumed[unit] = Assumption(workload, mark, {each.uid: each.generation for each in objects})

    def drop(self, unit: str, mark: Mark) -> bool:
        """End the assumption that this write made; whether there was one. A later one stays."""
        assumed = self._assumed.get(unit)
        if assumed is None or assumed.mark != mark:
            return False
        del self._assumed[unit]
        return True

    def see(self, unit: str, seen: Metadata) -> None:
        """An object of the unit as the watch shows it."""
        assumed = self._assumed.get(unit)
        if assumed is not None and seen.uid in assumed.unseen:
            name, text = assumed.mark
            if seen.generation > assumed.unseen[seen.uid] or seen.annotations.get(name) == text:
                self._settle(unit, assumed, seen.uid)
        doubt = self._doubts.get(unit)
        if doubt is not None and doubt.generation != seen.generation:
            del self._doubts[unit]

    def lose(self, unit: str, uid: str) -> None:
        """An object of the unit is gone."""
        assumed = self._assumed.get(unit)
        if assumed is not None and uid in assumed.unseen:
            self._settle(unit, assumed, uid)
        self._doubts.pop(unit, None)

    def _settle(self, unit: str, assumed: Assumption, uid: str) -> None:
        del assumed.unseen[uid]
        if not assumed.unseen:
            del self._assumed[unit]

    def park(self, unit: str, generation: int, until: datetime) -> None:
        """Leave the unit alone until then."""
        self._doubts[unit] = replace(self._doubts.get(unit, WriteFailure(generation)), not_before=until)

    def block(self, unit: str, generation: int, flavors: Iterable[str]) -> None:
        """Do not offer these flavors again."""
        known = self._doubts.get(unit, WriteFailure(generation))
        self._doubts[unit] = replace(known, blocked_flavors=known.blocked_flavors | frozenset(flavors))

    def cast_doubt(self, unit: str, workload: Workload) -> Workload:
        """Pending work as it is to be considered, given what is doubted about it."""
        doubt = self._doubts.get(unit)
        if doubt is None or not workload.is_pending:
            return workload
        times = [time for time in (workload.not_before, doubt.not_before) if time is not None]
        return replace(workload, not_before=max(times, default=None), blocked_flavors=doubt.blocked_flavors)
