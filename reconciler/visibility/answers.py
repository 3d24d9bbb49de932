"""The objects that a request selects: computed a little at a time, kept for a second, and the same for all who ask."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
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

Explained = tuple[ObservedPlan, list[Workload], list[Json]]
"""A plan, workloads, and what is told of each."""

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
        self._forked = ForkedWork(limit=timedelta(seconds=8), rest=timedelta(milliseconds=250))
        self._lists = ExplainedLists(plans, self._forked)
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
        if selection.name and selection.namespace:
            observed, wanted, found = await self._one_explanation(selection)
        else:
            observed, wanted, found = await self._lists.of(selection)
        told_all = selection.in_whole_cluster
        return await self._slowly(
            explanation_object(observed, workload, data, told_all=told_all)
            for workload, data in zip(wanted, found, strict=True)
        )

    async def _one_explanation(self, selection: Selection) -> Explained:
        observed = self._plans.current()
        wanted = self._lists.wanted(observed, selection)[:1]
        if not wanted:
            return observed, [], []
        lines = await self._forked.run(lambda: map(_encode, _one(observed, wanted[0])))
        if not lines:
            raise TooBusy
        return observed, wanted, [msgspec.json.decode(lines[-1], type=Json)]


class ExplainedLists:
    """Explanations for lists: one child process computes all that was asked for while the one before it ran.

    A copy of this process makes its next decisions slower, so there is at most one in `rest`, however many ask.
    """

    def __init__(self, plans: Plans, forked: ForkedWork, rest: timedelta = timedelta(seconds=1)) -> None:
        self._plans = plans
        self._forked = forked
        self._rest = rest.total_seconds()
        self._workloads = WorkloadsByNamespace()
        self._asked: dict[Selection, asyncio.Future[Explained]] = {}
        self._runner: asyncio.Task[None] | None = None

    def wanted(self, observed: ObservedPlan, selection: Selection) -> list[Workload]:
        """The workloads that are selected, by name."""
        return [
            each for each in self._workloads.of(observed, selection.namespace or None) if _is_wanted(selection, each)
        ]

    async def of(self, selection: Selection) -> Explained:
        """The plan, the workloads, and the explanation of each, without remedies. Raises TooBusy."""
        if selection not in self._asked:
            self._asked[selection] = asyncio.get_running_loop().create_future()
        answer = self._asked[selection]
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._run(), name="explanations")
        return await asyncio.shield(answer)

    async def _run(self) -> None:
        while self._asked:
            asked, self._asked = self._asked, {}
            try:
                await self._answer(asked)
            except Exception as error:
                for answer in asked.values():
                    if not answer.done():
                        answer.set_exception(error)
            await asyncio.sleep(self._rest)

    async def _answer(self, asked: Mapping[Selection, asyncio.Future[Explained]]) -> None:
        observed = self._plans.current()
        wanted = {selection: self.wanted(observed, selection) for selection in asked}
        every = list({each.id: each for found in wanted.values() for each in found}.values())
        lines = await self._forked.run(lambda: map(_encode, _all(observed, every))) if every else []
        found = {each.id: line for each, line in zip(every, lines, strict=False)}
        for selection, answer in asked.items():
            chosen = wanted[selection]
            if answer.done():
                continue
            if any(each.id not in found for each in chosen):
                answer.set_exception(TooBusy())
            else:
                answer.set_result(
                    (observed, chosen, [msgspec.json.decode(found[each.id], type=Json) for each in chosen])
                )


def _is_wanted(selection: Selection, workload: Workload) -> bool:
    if selection.namespace and namespace_of(workload.key) != selection.namespace:
        return False
    return selection.takes_group(workload.group) and (not selection.name or is_called(workload, selection.name))


def _one(observed: ObservedPlan, wanted: Workload) -> Iterator[Json]:
    """Without remedies, then with them."""
    for tried, data in enumerate(explain_in_steps(observed.snapshot, observed.plan, wanted)):
        yield data | {"remediesTried": bool(tried)}


def _all(observed: ObservedPlan, wanted: list[Workload]) -> Iterator[Json]:
    for data in explain_all(observed.snapshot, observed.plan, wanted):
        yield data | {"remediesTried": False}
