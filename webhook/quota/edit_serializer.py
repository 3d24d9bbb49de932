"""Serialises edits of quota objects across replicas: of two edits that are illegal together, one is refused.

Edits that arrive together are judged in one round: read the coordination object, then what is stored, judge one after
another, write the accepted ones by compare-and-swap, answer. A replica that loses the swap judges again, so all
replicas together judge as one. An edit that is legal or illegal depending on an accepted one waits until it is known
whether that one was stored.

The watch says what is stored, if it has reached the floor of the coordination object: what it does not show yet is
recorded there. Otherwise, and for edits that wait long, it is read consistently, which takes the API server 0.1 s.

See docs/specification.md §4.11.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from shared.kube.client import Client
from shared.kube.errors import ApiError, Conflict, TooManyRequests, Unavailable
from shared.kube.resources import CONFIG_MAPS
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import Change, Changed, Watch
from shared.quota.model.rules import Context, Findings
from webhook.quota.edit_round import EditRound, reserve, write_unsettled
from webhook.quota.edits import FLAVOR, QuotaEdit, number
from webhook.quota.quotagroups import EditOutcome
from webhook.quota.stored.consistent_read import ConsistentReader, StoredState
from webhook.quota.stored.quota_cache import QuotaCache
from webhook.quota.stored.reservation_age import ReservationAges
from webhook.quota.stored.reservations import Reservation, Reservations, ReservationsObject, read_reservations
from webhook.quota.stored.settlement import resolve
from webhook.settings import EditsFile

FIRST_PAUSE: Final = 0.01
LONGEST_PAUSE: Final = 0.25
LARGEST_ROUND: Final = 64
PATIENCE: Final = 0.1
"""Seconds that an edit waits before the stored state is read consistently."""
VIEW_STEPS: Final = 5


@dataclass(slots=True)
class _WaitingEdit:
    edit: QuotaEdit
    deadline: float
    answer: asyncio.Future[Findings]
    outcome: EditOutcome | None = None
    judged: float = 0.0
    others: tuple[Reservation, ...] = ()

    @property
    def done(self) -> bool:
        return self.answer.done()


class EditSerializer:
    """Serialises the edits of one replica with those of all others. `context` returns the other inputs of the rules."""

    def __init__(  # noqa: PLR0913
        self,
        client: Client,
        watches: Watches,
        view: QuotaCache,
        context: Callable[[], Context],
        *,
        namespace: str,
        settings: EditsFile,
    ) -> None:
        self._view = view
        self._context = context
        self._budget = settings.budget.total_seconds()
        self._objects = ConsistentReader(client)
        self._object = ReservationsObject(client, namespace, settings.config_map)
        self._recorded: Reservations | None = None
        self._ages = ReservationAges(settings.reservation)
        self._waiting: list[_WaitingEdit] = []
        self._runner: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._random = Random()  # noqa: S311 - spreads load, guards nothing
        name = f"metadata.name={settings.config_map}"
        watches.add(
            Watch(client, CONFIG_MAPS, read_reservations, self._observe_reservations, namespace=namespace, fields=name)
        )

    async def judge(self, edit: QuotaEdit) -> Findings:
        """Judge the edit: return what is wrong with it. If nothing is, it is reserved, unless it is a dry run.

        Raises ApiError when the coordination object or the quota objects cannot be read or written.
        """
        deadline = time.monotonic() + self._budget
        waiting = _WaitingEdit(edit, deadline, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._changed.set()
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._run(), name="edits")
        return await waiting.answer

    async def _run(self) -> None:
        """Judge rounds until no edit waits. Each verdict is returned at once: others might depend on it."""
        pause = FIRST_PAUSE
        while self._still_waiting():
            try:
                answered = await self._try_round(self._next_batch(), pause)
            except Exception as error:
                for each in self._still_waiting():
                    each.answer.set_exception(error)
                continue
            pause = FIRST_PAUSE if answered else min(2 * pause, LONGEST_PAUSE)

    def _still_waiting(self) -> list[_WaitingEdit]:
        self._waiting = [each for each in self._waiting if not each.done]
        return self._waiting

    async def _try_round(self, batch: Sequence[_WaitingEdit], pause: float) -> bool:
        """Judge one round and pause if it had no effect; return whether all edits were answered."""
        self._changed.clear()
        try:
            if await self._round(batch):
                return True
            soonest = min(each.deadline for each in batch) - time.monotonic()
            await self._changed_within(min(pause, max(0.0, soonest)))
        except Conflict:
            self._recorded = None
            await asyncio.sleep(self._random.uniform(0, FIRST_PAUSE))
        except ApiError as error:
            self._recorded = None
            _give_up(batch, error)
            await asyncio.sleep(pause)
        return False

    def _next_batch(self) -> list[_WaitingEdit]:
        """Return the waiting edits, at most as many as keep a round short; first those that were never judged."""
        return sorted(self._still_waiting(), key=lambda each: each.outcome is not None)[:LARGEST_ROUND]

    async def _changed_within(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            return
        await asyncio.sleep(FIRST_PAUSE)

    async def _round(self, batch: Sequence[_WaitingEdit]) -> bool:
        """Judge all in `batch` in order, write down what was accepted, and say whether all are answered.

        Raises Conflict: then none was answered. Reservations remembered from the last write are good enough to accept
        by, because the swap proves them current; to refuse, they are read.

        Two replicas get min 6 for a and min 6 for b, of a parent with 10. Each judges its own alone and accepts it;
        the second swap fails, its replica reads the first one's reservation, and refuses: 12 of 10.
        """
        remembered = self._recorded
        recorded = remembered or await self._object.read()
        self._ages.see(recorded.reservations, time.monotonic())
        stored = await self._what_is_stored(recorded, batch)
        resolved = resolve(recorded, stored, self._is_over)
        own = {each.edit.id for each in batch}
        judging = EditRound(stored, [each for each in resolved.still if each.id not in own])
        context, accepted = self._context(), []
        for each in batch:
            each.others = judging.reservations
            each.outcome = judging.judge(each.edit, context)
            if each.outcome.is_legal and not each.edit.dry_run:
                accepted.append(each.edit)
                judging.remember(reserve(each.edit, datetime.now(UTC)))
            # Other edits are being answered by the same loop.
            await asyncio.sleep(0)
        if remembered and any(not each.outcome.is_legal for each in batch if each.outcome):
            self._recorded = None
            return await self._round(batch)
        if accepted:
            new = judging.reservations[-len(accepted) :]
            kept = (*resolved.kept, *(each for each in resolved.still if each.id not in own), *new)
            recorded = await self._object.write(recorded, kept, resolved.floor)
        return self._answered(batch, recorded)

    def _answered(self, batch: Sequence[_WaitingEdit], recorded: Reservations) -> bool:
        now = time.monotonic()
        for each in batch:
            each.judged = each.judged or now
            if each.outcome is not None and not each.done and (not each.outcome.unsettled or now >= each.deadline):
                each.answer.set_result(self._findings(each, each.outcome))
        everyone = all(each.done for each in batch)
        self._recorded = recorded if everyone else None
        return everyone

    async def _what_is_stored(self, recorded: Reservations, batch: Sequence[_WaitingEdit]) -> StoredState:
        now = time.monotonic()
        kinds = {*(each.edit.kind for each in batch), *(each.kind for each in recorded.reservations)}
        waits_long = any(each.judged and now - each.judged > PATIENCE for each in batch)
        needed = max(recorded.floor, 1, *(number(each.edit.base) for each in batch))
        if FLAVOR not in kinds and not waits_long and await self._view_reaches(needed):
            return self._view.stored()
        return await self._objects.read(flavors=FLAVOR in kinds)

    async def _view_reaches(self, revision: int) -> bool:
        """Return whether the watch has reached `revision`, after a short wait if necessary."""
        for _ in range(VIEW_STEPS):
            if self._view.revision >= revision:
                return True
            await asyncio.sleep(FIRST_PAUSE)
        return False

    def _is_over(self, reservation: Reservation) -> bool:
        return self._ages.left(reservation, time.monotonic(), datetime.now(UTC)) <= timedelta()

    def _findings(self, waiting: _WaitingEdit, outcome: EditOutcome) -> Findings:
        if not outcome.unsettled:
            return outcome.findings
        now, today = time.monotonic(), datetime.now(UTC)
        lefts = [self._ages.left(each, now, today).total_seconds() for each in waiting.others]
        return Findings((write_unsettled(waiting.edit, outcome, waiting.others, max(1, round(max(lefts, default=1)))),))

    def _observe_reservations(self, changes: Sequence[Change[Reservations]]) -> None:
        for change in changes:
            if isinstance(change, Changed) and change.after is not None:
                self._ages.see(change.after.reservations, time.monotonic())


def _give_up(batch: Sequence[_WaitingEdit], error: ApiError) -> None:
    """Raise the error for edits that have waited too long, or for all if retrying cannot help.

    A failed write might have been stored: the next round finds its own reservations and removes them.
    """
    passes = isinstance(error, (Unavailable, TooManyRequests))
    now = time.monotonic()
    for each in batch:
        if not each.done and (not passes or now >= each.deadline):
            each.answer.set_exception(error)
