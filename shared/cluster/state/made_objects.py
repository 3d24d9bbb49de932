"""Objects that say by a label that they were made for an object of a governed kind: whether they count for it.

The label counts while the object that it names exists, is governed, and was not made for another one itself. Otherwise
what carries it is a workload of its own: an invented label keeps nothing from being counted. Pure.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from shared.quota.model.namespace_context import Transition

R = TypeVar("R")


class MadeObjects(Generic[R]):
    """Records of one kind with that label. What others see of them changes with the object that it names."""

    def __init__(
        self,
        is_governed: Callable[[str], bool],
        identify: Callable[[R], tuple[str, str]],
        alone: Callable[[R], R | None],
        child: Callable[[R], R | None],
    ) -> None:
        """`identify`: the uid of a record, and the key of the object that it was made for, empty without the label.

        `alone`, `child`: the record as a workload of its own, and as one that the other object accounts for.
        """
        self._is_governed = is_governed
        self._identify = identify
        self._alone = alone
        self._child = child
        self._made_for: dict[str, dict[str, R]] = {}
        """key of the object that the label names -> uid -> record."""
        self._shown: dict[str, R | None] = {}
        """uid -> what others see."""

    def seen(self, changes: Iterable[Transition[R]]) -> Iterator[Transition[R]]:
        """Yield the changes as others must see them; those of records without the label as they are."""
        for before, after in changes:
            shown_before = before if before is None else self._forget(before)
            shown_after = after if after is None else self._keep(after)
            if shown_before is not None or shown_after is not None:
                yield shown_before, shown_after

    def judge_again(self, keys: Iterable[str]) -> list[Transition[R]]:
        """Return the changes of the records that name one of these objects, which have appeared or are gone."""
        found = [record for key in keys for record in self._made_for.get(key, {}).values()]
        changes = [(self._forget(record), self._keep(record)) for record in found]
        return [(before, after) for before, after in changes if before != after]

    def _forget(self, record: R) -> R | None:
        uid, unit = self._identify(record)
        if not unit:
            return record
        records = self._made_for.get(unit, {})
        records.pop(uid, None)
        if not records:
            self._made_for.pop(unit, None)
        return self._shown.pop(uid, None)

    def _keep(self, record: R) -> R | None:
        uid, unit = self._identify(record)
        if not unit:
            return record
        self._made_for.setdefault(unit, {})[uid] = record
        shown = self._shown[uid] = self._child(record) if self._is_governed(unit) else self._alone(record)
        return shown
