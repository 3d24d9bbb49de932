"""While a process leads, some of what waits is forecast now and then, and its accounts keep how right that was.

A copy of the process computes the forecasts: no decision waits for them. See docs/specification.md §9.8.
"""

import asyncio
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

import msgspec

from reconciler.report.latest_plan import LatestPlan
from reconciler.visibility.copies.asking import Copy, NotAnswered
from reconciler.visibility.copies.making import LIFE, CopyMaker
from reconciler.visibility.copies.plans import current_plan, known_run_times
from reconciler.visibility.copies.questions import CopyQuestion
from shared.cluster.state.cluster_state import ClusterState
from shared.quota.measure.accounts.waits import ForeseenWait
from shared.quota.model.workload import WorkloadId
from shared.quota.outlook.forecast.checks import ForeseenStarts, foreseen_starts

INTERVAL: Final = timedelta(minutes=5)
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(dict[str, list[tuple[WorkloadId, ForeseenWait]]]).decode


class ForecastChecks:
    """Has copies forecast, and `keep` what they find."""

    def __init__(
        self,
        state: ClusterState,
        latest: LatestPlan,
        keep: Callable[[ForeseenStarts], None],
        interval: timedelta = INTERVAL,
    ) -> None:
        self._state = state
        self._latest = latest
        self._keep = keep
        self._interval = interval.total_seconds()
        self._copies = CopyMaker(self._lines, most=1)

    async def run(self) -> NoReturn:
        """Run indefinitely; where a copy fails or takes too long, the next one follows after the same time."""
        while True:
            await asyncio.sleep(self._interval)
            if self._is_wanted():
                await self._check()

    def _is_wanted(self) -> bool:
        snapshot = self._latest.snapshot
        if snapshot is None or not snapshot.world.settings.forecast_steps:
            return False
        return any(leaf.pending for leaf in snapshot.leaves.values())

    async def _check(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        copy = Copy(ours)
        self._copies.make(theirs)
        try:
            lines = await copy.ask(CopyQuestion(), LIFE)
        except NotAnswered:
            return
        finally:
            copy.close()
        for line in filter(None, lines):
            self._keep({leaf: dict(own) for leaf, own in _decode(line).items()})

    def _lines(self, _: bytes) -> Iterator[bytes]:
        """Answer in the copy."""
        observed = current_plan(self._state, self._latest, datetime.now(UTC))
        found = foreseen_starts(observed.outlook.after, known_run_times(self._state))
        yield _encode({leaf: [*own.items()] for leaf, own in found.items()})
