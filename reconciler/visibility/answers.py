"""The objects that a request selects: computed a little at a time, kept for a second, and the same for all who ask."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from typing import Final

from reconciler.visibility.explained import Explanations
from reconciler.visibility.forked import ForkedWork
from reconciler.visibility.objects.groups import group_object
from reconciler.visibility.objects.kinds import EXPLANATION, GROUPS, PENDING, Json
from reconciler.visibility.objects.naming import is_called
from reconciler.visibility.objects.observed import ObservedPlan
from reconciler.visibility.objects.pending import Place, Places, pending_object
from reconciler.visibility.plans import Plans
from reconciler.visibility.requests import Selection
from reconciler.visibility.selected import Item, Selected, item_of
from shared.quota.model.workload import WorkloadId

Items = tuple[list[Json], list[bytes]]
"""Objects, and the digest of each."""

FRESH: Final = 1.0
"""Seconds for which an answer is given again."""
LIMIT: Final = timedelta(seconds=8)
_MOST_KEPT: Final = 64
_SLICE: Final = 0.002
_PAUSE: Final = 0.06
"""A leader computes lists for so long, then lets decisions go on for so long: at most 3 % of its time."""


class PendingMoment:
    """What waits by one plan: each object is made once, for whichever lists it is in."""

    def __init__(self, observed: ObservedPlan) -> None:
        self.observed = observed
        self.since = time.monotonic()
        self._items: dict[WorkloadId, Item | None] = {}

    def item(self, place: Place) -> Item | None:
        """The object of one place; None for a workload that does not wait any more."""
        workload_id = place.workload.id
        if workload_id not in self._items:
            found = pending_object(self.observed, place)
            self._items[workload_id] = None if found is None else item_of(found)
        return self._items[workload_id]


class Answers:
    """Selects objects. Nothing here blocks the process for longer than a slice."""

    def __init__(self, plans: Plans, limit: timedelta = LIMIT) -> None:
        """`limit`: for a child process that computes explanations."""
        self._plans = plans
        self._places = Places()
        self._explained = Explanations(plans, ForkedWork(limit=limit, rest=timedelta(milliseconds=250)))
        self._turn = asyncio.Lock()
        self._moment: PendingMoment | None = None
        self._spent = 0.0
        """Seconds computed since the last pause, for whichever list."""
        self._kept: dict[Selection, tuple[float, asyncio.Task[Selected]]] = {}
        self._compute: dict[str, Callable[[Selection], Awaitable[Items]]] = {
            PENDING.plural: self._pending,
            EXPLANATION.plural: self._explanations,
            GROUPS.plural: self._groups,
        }

    async def select(self, selection: Selection) -> Selected:
        """The objects, in the order of a list. Raises TooBusy."""
        now = time.monotonic()
        known = self._kept.get(selection)
        if known is None or (known[1].done() and (now - known[0] > FRESH or known[1].exception() is not None)):
            while len(self._kept) >= _MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept.pop(selection, None)
            known = self._kept[selection] = (now, asyncio.create_task(self._compute_now(selection), name="answer"))
        return await asyncio.shield(known[1])

    async def _compute_now(self, selection: Selection) -> Selected:
        found = Selected.of(selection.kind, *await self._compute[selection.kind.plural](selection))
        if selection in self._kept:
            self._kept[selection] = (time.monotonic(), self._kept[selection][1])
        return found

    async def _pending(self, selection: Selection) -> Items:
        async with self._turn:
            moment = self._current_moment()
            places = self._places.of(moment.observed, selection.namespace or None, selection.groups)
            wanted = (each for each in places if not selection.name or is_called(each.workload, selection.name))
            return await self._slowly(map(moment.item, wanted))

    def _current_moment(self) -> PendingMoment:
        """What waited at most a second ago."""
        if self._moment is None or time.monotonic() - self._moment.since > FRESH:
            self._moment = PendingMoment(self._plans.current())
        return self._moment

    async def _slowly(self, items: Iterable[Item | None]) -> Items:
        found: list[Json] = []
        digests: list[bytes] = []
        began = time.monotonic()
        for each in items:
            if each is not None:
                found.append(each[0])
                digests.append(each[1])
            now = time.monotonic()
            self._spent, began = self._spent + now - began, now
            if self._spent > _SLICE:
                self._spent = 0.0
                await asyncio.sleep(_PAUSE if self._plans.leads else 0)
                began = time.monotonic()
        return found, digests

    async def _groups(self, selection: Selection) -> Items:
        async with self._turn:
            observed = self._plans.current()
            names = sorted(observed.snapshot.world.tree.groups)
            wanted = (name for name in names if selection.name in ("", name) and selection.takes_group(name))
            return await self._slowly(item_of(group_object(observed, name)) for name in wanted)

    async def _explanations(self, selection: Selection) -> Items:
        is_one = bool(selection.name and selection.namespace)
        found, wanted = await (self._explained.one(selection) if is_one else self._explained.of(selection))
        return await self._slowly(found.item(each, told_all=selection.in_whole_cluster) for each in wanted)
