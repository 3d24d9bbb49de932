"""Serialises edits of quota objects across replicas: no two are accepted of which only one may be.

Edits that arrive together are judged in one round: read the ledger, then what is stored, judge one after another, write
the ledger by compare-and-swap, answer. Whoever loses the swap judges anew, so all replicas together judge as one. An
edit that is illegal only if an accepted one is stored, or only if it is not, waits for what becomes of that one.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

import msgspec

from shared.kube.client import Client
from shared.kube.errors import ApiError, Conflict, TooManyRequests, Unavailable
from shared.kube.resources import CONFIG_MAPS
from shared.kube.watching import Change, Changed, Watch, Watches
from shared.quota.model.rules import Context, Findings
from webhook.ages import Ages
from webhook.flavors import KIND as FLAVOR
from webhook.flavors import FlavorEdit
from webhook.judging import Judging, Ordered, reserve, tell_unsettled
from webhook.ledger import NAME, Ledger, LedgerObject, Reservation, is_open, read_ledger
from webhook.quotagroups import Outcome
from webhook.stored import Stored, StoredObjects

FIRST_PAUSE: Final = 0.01
LONGEST_PAUSE: Final = 0.25
LARGEST_ROUND: Final = 64


class EditsFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`edits:` how edits of quota objects are serialised."""

    reservation: timedelta = timedelta(seconds=65)
    """How long after it was accepted an edit may still come to be stored: the API server's --request-timeout (1m by
    default) and a little more. Shorter would allow what should wait; longer only makes it wait longer."""
    budget: timedelta = timedelta(seconds=7)
    """How long an edit may wait for another; less than the timeoutSeconds of the webhook."""


@dataclass(slots=True)
class _Waiting:
    edit: Ordered
    deadline: float
    outcome: Outcome | None = None
    others: tuple[Reservation, ...] = ()
    error: ApiError | None = None
    done: bool = False


class Edits:
    """Every replica has one. `context` tells what else the rules look at, at the moment of judging."""

    def __init__(
        self, client: Client, namespace: str, watches: Watches, settings: EditsFile, context: Callable[[], Context]
    ) -> None:
        self._context = context
        self._budget = settings.budget.total_seconds()
        self._objects = StoredObjects(client)
        self._ledger_object = LedgerObject(client, namespace)
        self._ledger: Ledger | None = None
        self._ages = Ages(settings.reservation)
        self._waiting: list[_Waiting] = []
        self._lock = asyncio.Lock()
        self._stirred = asyncio.Event()
        self._random = Random()  # noqa: S311 - spreads load, guards nothing
        name = f"metadata.name={NAME}"
        watches.add(Watch(client, CONFIG_MAPS, read_ledger, self._see_ledger, namespace=namespace, fields=name))

    async def judge(self, edit: Ordered) -> Findings:
        """What is wrong with the edit; nothing: it may be stored, and is reserved unless it is a dry run.

        Raises ApiError when the ledger or the objects cannot be read or written.
        """
        waiting = _Waiting(edit, time.monotonic() + self._budget)
        self._waiting.append(waiting)
        self._stirred.set()
        try:
            async with self._lock:
                await self._judge_until(waiting)
        finally:
            waiting.done = True
            self._waiting = [each for each in self._waiting if not each.done]
        if waiting.error is not None:
            raise waiting.error
        return self._told(waiting)

    async def _judge_until(self, mine: _Waiting) -> None:
        """Judge rounds of all who wait until this one is answered; the others are answered on the way."""
        pause = FIRST_PAUSE
        while not mine.done:
            batch = self._next_batch()
            self._stirred.clear()
            try:
                await self._round(batch)
            except Conflict:
                self._ledger = None
                await asyncio.sleep(self._random.uniform(0, FIRST_PAUSE))
                continue
            except ApiError as error:
                self._ledger = None
                _give_up(batch, error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            unsettled = [each for each in batch if not each.done]
            if unsettled:
                self._ledger = None
                await self._stirred_within(min(pause, max(0.0, mine.deadline - time.monotonic())))
                pause = min(2 * pause, LONGEST_PAUSE)

    def _next_batch(self) -> list[_Waiting]:
        """Those who wait, at most so many that a round stays short; first those who were never judged."""
        waiting = [each for each in self._waiting if not each.done]
        return sorted(waiting, key=lambda each: each.outcome is not None)[:LARGEST_ROUND]

    async def _stirred_within(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stirred.wait(), seconds)
        except TimeoutError:
            return
        await asyncio.sleep(FIRST_PAUSE)

    async def _round(self, batch: Sequence[_Waiting]) -> None:
        """Judge all in `batch` in order and write down what was accepted. Raises Conflict: nothing was."""
        ledger = self._ledger or await self._ledger_object.read()
        self._ages.see(ledger.reservations, time.monotonic())
        flavors = any(each.kind == FLAVOR for each in ledger.reservations)
        stored = await self._objects.read(flavors=flavors or any(isinstance(each.edit, FlavorEdit) for each in batch))
        own = {each.edit.id for each in batch}
        still = [each for each in self._still_open(ledger, stored) if each.id not in own]
        judging = Judging(stored, still)
        context = self._context()
        for each in batch:
            each.others = judging.reservations
            each.outcome = judging.judge(each.edit, context)
            if each.outcome.is_legal and not each.edit.dry_run:
                judging.remember(reserve(each.edit, datetime.now(UTC)))
            # Others are being answered by the same loop.
            await asyncio.sleep(0)
        self._ledger = ledger
        if len(judging.reservations) > len(still):
            self._ledger = await self._ledger_object.write(ledger, judging.reservations)
        now = time.monotonic()
        for each in batch:
            each.done = each.outcome is not None and (not each.outcome.unsettled or now >= each.deadline)

    def _still_open(self, ledger: Ledger, stored: Stored) -> list[Reservation]:
        now, today = time.monotonic(), datetime.now(UTC)
        return [
            each
            for each in ledger.reservations
            if is_open(each, stored.version(each.kind, each.name)) and self._ages.left(each, now, today) > timedelta()
        ]

    def _told(self, waiting: _Waiting) -> Findings:
        outcome = waiting.outcome
        if outcome is None:
            raise AssertionError("an answered edit has an outcome")
        if not outcome.unsettled:
            return outcome.findings
        now, today = time.monotonic(), datetime.now(UTC)
        lefts = [self._ages.left(each, now, today).total_seconds() for each in waiting.others]
        return Findings((tell_unsettled(waiting.edit, outcome, waiting.others, max(1, round(max(lefts, default=1)))),))

    def _see_ledger(self, changes: Sequence[Change[Ledger]]) -> None:
        for change in changes:
            if isinstance(change, Changed) and change.after is not None:
                self._ages.see(change.after.reservations, time.monotonic())


def _give_up(batch: Sequence[_Waiting], error: ApiError) -> None:
    """End with the error those who may wait no longer; all, if it will not pass by itself.

    A write that failed may have been done all the same: the next round finds its own reservations and takes them back.
    """
    passes = isinstance(error, (Unavailable, TooManyRequests))
    now = time.monotonic()
    for each in batch:
        if not passes or now >= each.deadline:
            each.error, each.done = error, True
