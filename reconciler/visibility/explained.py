"""Explanations computed in a child process: of one workload with its remedies, of lists without them."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import msgspec

from reconciler.visibility.forked import ForkedWork, TooBusy
from reconciler.visibility.objects.explanations import WorkloadsByNamespace, explanation_object
from reconciler.visibility.objects.kinds import Json
from reconciler.visibility.objects.naming import is_called
from reconciler.visibility.objects.observed import ObservedPlan
from reconciler.visibility.plans import Plans
from reconciler.visibility.requests import Selection
from reconciler.visibility.selected import Item, item_of
from shared.quota.decide.advise.answer import explain_all, explain_in_steps
from shared.quota.model.workload import Workload, WorkloadId, namespace_of

FEW: Final = 1000
"""So many workloads are all explained, whichever were asked about, so that the same child answers the next one too."""
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Explained:
    """What a child wrote: of each workload a line. Each object is made once, for whichever lists it is in."""

    observed: ObservedPlan
    lines: Mapping[WorkloadId, bytes]
    at: float = field(default_factory=time.monotonic)
    _items: dict[tuple[WorkloadId, bool], Item] = field(default_factory=dict)

    def has_all(self, workloads: Iterable[Workload]) -> bool:
        """Whether it says something of each of them."""
        return all(each.id in self.lines for each in workloads)

    def item(self, workload: Workload, *, told_all: bool) -> Item:
        """The object of one workload; unless `told_all`, without the names of workloads in other namespaces."""
        key = workload.id, told_all
        if key not in self._items:
            data = msgspec.json.decode(self.lines[workload.id], type=Json)
            self._items[key] = item_of(explanation_object(self.observed, workload, data, told_all=told_all))
        return self._items[key]


class Explanations:
    """Explanations: of one workload, with remedies, by a child of its own; for lists, without, by one child together.

    That one computes all that was asked for while the one before it ran.

    A copy of this process makes its next decisions slower, so there is at most one in `rest`, however many ask; for
    that long its answers are given to others too.
    """

    def __init__(self, plans: Plans, forked: ForkedWork, rest: timedelta = timedelta(seconds=3)) -> None:
        self._plans = plans
        self._forked = forked
        self._rest = rest.total_seconds()
        self._workloads = WorkloadsByNamespace()
        self._asked: dict[Selection, asyncio.Future[tuple[Explained, list[Workload]]]] = {}
        self._latest: Explained | None = None
        self._runner: asyncio.Task[None] | None = None

    def wanted(self, observed: ObservedPlan, selection: Selection) -> list[Workload]:
        """The workloads that are selected, by name."""
        return [
            each for each in self._workloads.of(observed, selection.namespace or None) if _is_wanted(selection, each)
        ]

    async def one(self, selection: Selection) -> tuple[Explained, list[Workload]]:
        """The explanation of one workload, with its remedies if they are found in time. Raises TooBusy."""
        observed = self._plans.current()
        wanted = self.wanted(observed, selection)[:1]
        if not wanted:
            return Explained(observed, {}), []
        lines = await self._forked.run(lambda: map(_encode, _one(observed, wanted[0])))
        if not lines:
            raise TooBusy
        return Explained(observed, {wanted[0].id: lines[-1]}), wanted

    async def of(self, selection: Selection) -> tuple[Explained, list[Workload]]:
        """The explanations, without remedies, and the workloads that are selected. Raises TooBusy."""
        latest = self._latest
        if latest is not None and time.monotonic() - latest.at < self._rest:
            wanted = self.wanted(latest.observed, selection)
            if latest.has_all(wanted):
                return latest, wanted
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

    async def _answer(self, asked: Mapping[Selection, asyncio.Future[tuple[Explained, list[Workload]]]]) -> None:
        observed = self._plans.current()
        wanted = {selection: self.wanted(observed, selection) for selection in asked}
        every = self._all_if_few(observed) or list({each.id: each for own in wanted.values() for each in own}.values())
        lines = await self._forked.run(lambda: map(_encode, _all(observed, every))) if every else []
        found = self._latest = Explained(observed, {each.id: line for each, line in zip(every, lines, strict=False)})
        for selection, answer in asked.items():
            if answer.done():
                continue
            if found.has_all(wanted[selection]):
                answer.set_result((found, wanted[selection]))
            else:
                answer.set_exception(TooBusy())

    def _all_if_few(self, observed: ObservedPlan) -> list[Workload]:
        count = sum(len(each.by_id) for each in observed.snapshot.world.workload_sets.values())
        return self._workloads.of(observed, None) if count <= FEW else []


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
