"""The objects that a request selects: computed a little at a time, kept for a second, and the same for all who ask."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import timedelta
from typing import Final

import msgspec

from reconciler.visibility.forked import ForkedWork, TooBusy
from reconciler.visibility.objects.explanations import WorkloadsByNamespace, explanation_object
from reconciler.visibility.objects.groups import group_object
from reconciler.visibility.objects.kinds import EXPLANATION, GROUPS, PENDING, Json
from reconciler.visibility.objects.naming import is_called
from reconciler.visibility.objects.observed import ObservedPlan
from reconciler.visibility.objects.pending import Places, pending_object
from reconciler.visibility.plans import Plans
from reconciler.visibility.requests import Selection
from reconciler.visibility.selected import Selected, digest_of
from shared.quota.decide.advise.answer import explain_all, explain_in_steps
from shared.quota.model.workload import Workload, namespace_of

Items = tuple[list[Json], list[bytes]]
"""Objects, and the digest of each."""

FRESH: Final = 1.0
"""Seconds for which an answer is given again."""
_MOST_KEPT: Final = 64
_SLICE: Final = 0.002
_PAUSE: Final = 0.06
"""A leader computes lists for so long, then lets decisions go on for so long: at most 3 % of its time."""
_encode: Final = msgspec.json.Encoder().encode


class Answers:
    """Selects objects. Nothing here blocks the process for longer than a slice."""

    def __init__(self, plans: Plans) -> None:
        self._plans = plans
        self._places = Places()
        self._workloads = WorkloadsByNamespace()
        self._forked = ForkedWork(limit=timedelta(seconds=8), rest=timedelta(milliseconds=250))
        self._turn = asyncio.Lock()
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
            places = [
                place
                for place in self._places.of(self._plans.current(), selection.namespace or None)
                if _is_wanted(selection, place.workload)
            ]
            return await self._slowly(pending_object(self._plans.current(), place) for place in places)

    async def _slowly(self, objects: Iterable[Json | None]) -> Items:
        found: list[Json] = []
        digests: list[bytes] = []
        began = time.monotonic()
        for each in objects:
            if each is not None:
                found.append(each)
                digests.append(digest_of(each))
            if time.monotonic() - began > _SLICE:
                await asyncio.sleep(_PAUSE if self._plans.leads else 0)
                began = time.monotonic()
        return found, digests

    async def _groups(self, selection: Selection) -> Items:
        async with self._turn:
            observed = self._plans.current()
            names = sorted(observed.snapshot.world.tree.groups)
            wanted = (name for name in names if selection.name in ("", name) and selection.takes_group(name))
            return await self._slowly(group_object(observed, name) for name in wanted)

    async def _explanations(self, selection: Selection) -> Items:
        observed = self._plans.current()
        known = self._workloads.of(observed, selection.namespace or None)
        wanted = [each for each in known if _is_wanted(selection, each)]
        if selection.name:
            wanted = wanted[:1]
        if not wanted:
            return [], []
        steps = _one if selection.name and selection.namespace else _all
        lines = await self._forked.run(lambda: map(_encode, steps(observed, wanted)))
        found = [msgspec.json.decode(each, type=Json) for each in lines]
        if steps is _one:
            found = found[-1:]
        if len(found) < len(wanted):
            raise TooBusy
        return await self._slowly(
            explanation_object(observed, workload, data, told_all=selection.in_whole_cluster)
            for workload, data in zip(wanted, found, strict=True)
        )


def _is_wanted(selection: Selection, workload: Workload) -> bool:
    if selection.namespace and namespace_of(workload.key) != selection.namespace:
        return False
    return selection.takes_group(workload.group) and (not selection.name or is_called(workload, selection.name))


def _one(observed: ObservedPlan, wanted: list[Workload]) -> Iterator[Json]:
    """Without remedies, then with them."""
    for tried, data in enumerate(explain_in_steps(observed.snapshot, observed.plan, wanted[0])):
        yield data | {"remediesTried": bool(tried)}


def _all(observed: ObservedPlan, wanted: list[Workload]) -> Iterator[Json]:
    for data in explain_all(observed.snapshot, observed.plan, wanted):
        yield data | {"remediesTried": False}
