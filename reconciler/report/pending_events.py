"""Tells the owners of work that waits why it waits: once it has waited for a while, and again when the reason changes.

Nothing of this is on the way of a start: one round a second looks at a few units, whatever waits, and asks the latest
plan. Work that starts at once is never told anything here.
"""

import asyncio
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

from reconciler.report.events import WorkloadEvents
from reconciler.state.workload_cache import WorkloadCache
from shared.quota.decide.decisions import Plan, WaitExplanation, WaitReason
from shared.quota.model.workload import Workload

_PATIENCE: Final = timedelta(seconds=3)
"""How long work waits before its owner is told; on an idle cluster work starts within a twentieth of a second."""
_AGAIN: Final = timedelta(minutes=1)
"""How long until the same work is looked at again."""
_ROUND: Final = timedelta(seconds=1)
_LOOKS: Final = 10
"""How many are looked at in one round, and so the most that is told in a second."""
_PASSED_OVER: Final = 2000
"""How many that have started meanwhile are crossed off in one round: decisions must not wait for it."""

_TOLD_ELSEWHERE: Final = frozenset({WaitReason.HELD, WaitReason.NO_LEAF})
"""The owner's own wish; and what `Reports` says at once."""

Said = tuple[str, str, str, str]
"""Reason, binding group, flavor, resource. The amounts may change without anybody being told again."""


class PendingEvents:
    """All units that wait, in the order in which they are to be looked at; `round` is pure but for what it tells."""

    def __init__(self, work: WorkloadCache, telling: WorkloadEvents) -> None:
        self.plan: Plan | None = None
        """The latest."""
        self._work = work
        self._telling = telling
        self._fresh: deque[tuple[datetime, str]] = deque()
        self._known: deque[tuple[datetime, str]] = deque()
        self._due: dict[str, datetime] = {}
        """By unit, when it is to be looked at: an entry of either line that says another time is void."""
        self._said: dict[str, Said] = {}

    async def run(self) -> NoReturn:
        """Look and tell, indefinitely."""
        while True:
            await asyncio.sleep(_ROUND.total_seconds())
            self.round(datetime.now(UTC))

    def round(self, now: datetime) -> None:
        """Take note of what waits since the last round, then look at those whose time it is."""
        if self.plan is None:
            return
        for unit in self._work.fresh_waits:
            self._said.pop(unit, None)
            self._enter(self._fresh, unit, now + _PATIENCE)
        self._work.fresh_waits.clear()
        looks = _LOOKS
        for line in (self._fresh, self._known):
            passed_over = 0
            while looks and passed_over < _PASSED_OVER and line and line[0][0] <= now:
                due, unit = line.popleft()
                if self._due.get(unit) == due and self._look(unit, self.plan, now):
                    looks -= 1
                else:
                    passed_over += 1

    def _enter(self, line: deque[tuple[datetime, str]], unit: str, due: datetime) -> None:
        self._due[unit] = due
        line.append((due, unit))

    def _look(self, unit: str, plan: Plan, now: datetime) -> bool:
        """Whether the unit still waits; its owner is told if the reason is news."""
        workload = self._work.workload(unit)
        if workload is None or not workload.is_pending:
            del self._due[unit]
            self._said.pop(unit, None)
            return False
        self._tell(unit, workload, plan)
        self._enter(self._known, unit, now + _AGAIN)
        return True

    def _tell(self, unit: str, workload: Workload, plan: Plan) -> None:
        waiting = plan.waiting.why(workload)
        if waiting is None or waiting.reason in _TOLD_ELSEWHERE:
            return
        said = _gist(waiting)
        if self._said.get(unit) != said:
            self._said[unit] = said
            self._telling.waits(waiting, self._work.objects(unit))


def _gist(waiting: WaitExplanation) -> Said:
    return (waiting.reason.value, waiting.binding, waiting.flavor, waiting.resource)
