"""What was decided but is not yet seen: each decision counts from the moment it is made. Pure.

An assumption ends when the watch shows every object past its write (the generation has moved, the object bears the
written annotation, or it is gone), except where the write is known to have failed. What a refused write showed about an
object is a `WriteFailure`; it is true until the object's spec changes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from shared.api.core.metadata import Metadata
from shared.quota.model.workload import Workload

Mark = tuple[str, str | None]
"""(annotation, text): identifies a write on its object; None: the annotation is removed."""


@dataclass(slots=True)
class Assumption:
    """A workload as pending writes will change it; `unseen`: uid -> generation before its write."""

    workload: Workload
    mark: Mark
    unseen: dict[str, int]


@dataclass(frozen=True, slots=True)
class WriteFailure:
    """Do not write the workload until then; do not offer it these flavors."""

    generation: int
    not_before: datetime | None = None
    blocked_flavors: frozenset[str] = frozenset()


@dataclass(slots=True)
class Assumptions:
    """All of them, by workload key."""

    _assumed: dict[str, Assumption] = field(default_factory=dict)
    _failures: dict[str, WriteFailure] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._assumed)

    def __contains__(self, key: str) -> bool:
        return key in self._assumed

    def get(self, key: str) -> Workload | None:
        """Return the assumed workload, or None."""
        assumed = self._assumed.get(key)
        return None if assumed is None else assumed.workload

    def make(self, key: str, workload: Workload, mark: Mark, objects: Iterable[Metadata]) -> None:
        """Assume `workload` until the watch shows the write on all of `objects`."""
        self._assumed[key] = Assumption(workload, mark, {each.uid: each.generation for each in objects})

    def drop(self, key: str, mark: Mark, failed: Iterable[str] | None = None) -> bool:
        """End the assumption of this write, and return whether one has ended. A later one stays.

        `failed`: the uids on which the write has failed; where it was carried out on others, that counts until it is
        seen. None: all.
        """
        assumed = self._assumed.get(key)
        if assumed is None or assumed.mark != mark:
            return False
        for uid in list(assumed.unseen) if failed is None else failed:
            assumed.unseen.pop(uid, None)
        if assumed.unseen:
            return False
        del self._assumed[key]
        return True

    def see(self, key: str, seen: Metadata) -> None:
        """Process an object of the workload as the watch reports it."""
        assumed = self._assumed.get(key)
        if assumed is not None and seen.uid in assumed.unseen:
            name, text = assumed.mark
            is_past = seen.generation > assumed.unseen[seen.uid] or seen.is_deleting
            if is_past or seen.annotations.get(name) == text:
                self._resolve(key, assumed, seen.uid)
        failure = self._failures.get(key)
        if failure is not None and failure.generation != seen.generation:
            del self._failures[key]

    def lose(self, key: str, uid: str) -> None:
        """Process the deletion of an object of the workload."""
        assumed = self._assumed.get(key)
        if assumed is not None and uid in assumed.unseen:
            self._resolve(key, assumed, uid)
        self._failures.pop(key, None)

    def abandon(self, key: str) -> None:
        """End whatever is assumed of the workload."""
        self._assumed.pop(key, None)

    def _resolve(self, key: str, assumed: Assumption, uid: str) -> None:
        del assumed.unseen[uid]
        if not assumed.unseen:
            del self._assumed[key]

    def park(self, key: str, generation: int, until: datetime) -> None:
        """Do not write the workload until then."""
        self._failures[key] = replace(self._failures.get(key, WriteFailure(generation)), not_before=until)

    def block(self, key: str, generation: int, flavors: Iterable[str]) -> None:
        """Do not offer these flavors again."""
        known = self._failures.get(key, WriteFailure(generation))
        self._failures[key] = replace(known, blocked_flavors=known.blocked_flavors | frozenset(flavors))

    def apply_failure(self, key: str, workload: Workload) -> Workload:
        """Return the pending workload with the results of its failed writes."""
        failure = self._failures.get(key)
        if failure is None or not workload.is_pending:
            return workload
        times = [time for time in (workload.not_before, failure.not_before) if time is not None]
        return replace(workload, not_before=max(times, default=None), blocked_flavors=failure.blocked_flavors)
