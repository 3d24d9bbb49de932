"""Writes of annotations alone: an adoption, unready pods, an eviction notice, the end of a claim."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from reconciler.report.events.decisions import WorkloadEvents
from reconciler.write import annotations, patches
from reconciler.write.workload_writer import WriteOutcome
from reconciler.write.write_queue import DONE, WriteQueue
from shared.api.annotations import BadAnnotation, read_annotations, read_waiting
from shared.api.core.metadata import Metadata
from shared.api.names import ADMISSION, EVICTION, NOTICE, TURN, WAITING
from shared.cluster.state.expected.assumptions import Mark
from shared.cluster.state.expected.unwritten import AnnotationPatch
from shared.cluster.state.sorts.sort import WorkloadObject
from shared.cluster.state.workloads.cache import WorkloadCache
from shared.quota.decide.decisions import ClaimEnd, Notice, TurnStart, WaitExplanation
from shared.quota.model.workload import Admission, Flavors, Workload

_ECHO: Final = timedelta(seconds=10)
"""How long the watch can take to report a write; a silent watch is reopened within this time."""


_AGAIN: Final = timedelta(hours=1)
"""How long the reason that is written on a waiting workload stays, even if it is another one by now."""


def is_news(why: WaitExplanation, seen: Metadata, now: datetime) -> bool:
    """Return whether the object says another reason for at least an hour, or none that can be read."""
    try:
        known = read_waiting(seen.annotations)
    except BadAnnotation:
        known = None
    if known is None or known.time is None or known.time > now:
        return True
    is_same = (known.reason, known.binding, known.flavor, known.resource) == (
        why.reason.value,
        why.binding,
        why.flavor,
        why.resource,
    )
    return not is_same and now - known.time >= _AGAIN


class Annotator:
    """Each annotation is assumed at once and written in its own task."""

    def __init__(self, work: WorkloadCache, writes: WriteQueue, events: WorkloadEvents) -> None:
        self._work = work
        self._writes = writes
        self._events = events

    def adopt(self, key: str, flavors: Flavors, now: datetime) -> None:
        """Count a workload that runs without an admission, and write the admission.

        One that does not count says since when the workload has run: a group that covers more resources than before
        makes no workload a younger one.
        """
        objects = self._writes.free_objects(key)
        workload = self._work.follow_ups.unadmitted_running.get(key)
        if not objects or workload is None:
            return
        known = read_annotations(objects[0].metadata.annotations, now).admission
        since = now if known is None else min(known.time, now)
        admission = Admission(flavors, since, adopted=known is None or known.adopted)
        text = annotations.write_admission(admission, self._work.objects.members_named(key, objects))
        preemptible = workload.preemptible or admission.adopted
        adopted = replace(workload, admission=admission, preemptible=preemptible, hold=False)
        if self._annotate(workload, adopted, {ADMISSION: text}, (ADMISSION, text)):
            self._events.adopted(workload.group, objects, flavors)

    def write_unready(self, key: str, now: datetime) -> None:
        """Write since when a workload that was ready is not."""
        workload = self._work.index.workload(key)
        if workload is None or workload.admission is None or not self._writes.free_objects(key):
            return
        admission = replace(workload.admission, unready_since=workload.admission.unready_since or now)
        text = annotations.write_admission(admission, self._work.objects.members_named(key, self._work.objects.of(key)))
        self._annotate(workload, replace(workload, admission=admission), {ADMISSION: text}, (ADMISSION, text))

    def give_notice(self, notice: Notice, now: datetime) -> None:
        """Write on a victim that it will be evicted."""
        text = annotations.write_notice(notice, now)
        noticed = replace(notice.workload, notice=now)
        if self._annotate(notice.workload, noticed, {NOTICE: text}, (NOTICE, text)):
            key = self._work.index.key_of(notice.workload)
            self._events.noticed(notice, self._work.objects.of(key) if key else [])

    def withdraw_notice(self, workload: Workload) -> None:
        """Remove the notice: the eviction is not needed any more."""
        self._annotate(workload, replace(workload, notice=None), {NOTICE: None}, (NOTICE, None))

    def begin_turn(self, begun: TurnStart) -> None:
        """Write on a waiting workload that it has a turn."""
        text = annotations.write_turn(begun.turn)
        if self._annotate(begun.workload, replace(begun.workload, turn=begun.turn), {TURN: text}, (TURN, text)):
            key = self._work.index.key_of(begun.workload)
            self._events.turn_began(begun, self._work.objects.of(key) if key else [])

    def end_turn(self, workload: Workload) -> None:
        """Remove the turn of a waiting workload."""
        self._annotate(workload, replace(workload, turn=None), {TURN: None}, (TURN, None))

    def end_claim(self, ended: ClaimEnd) -> None:
        """Write on the victim that its claim has ended."""
        self._work.readings.end_claim(ended.victim)
        key = self._writes.free_key(ended.victim)
        objects = self._writes.free_objects(key) if key else []
        for each in objects[:1]:
            try:
                text = annotations.end_claim(each.metadata.annotations, ended.reason)
            except BadAnnotation:
                text = None
            if text is not None:
                self._annotate(ended.victim, replace(ended.victim, claim=None), {EVICTION: text}, (EVICTION, text))

    def say_why_it_waits(self, why: WaitExplanation, now: datetime) -> None:
        """Write why a workload waits, at most once an hour, and only if it is another reason than is written.

        Nothing is assumed and nothing decided by it. It gives way to every other write.
        """
        key = None if self._writes.is_busy else self._writes.free_key(why.workload)
        objects = self._writes.free_objects(key) if key else []
        if key is None or not objects or not is_news(why, objects[0].metadata, now):
            return
        self._say_waiting(key, objects[0], annotations.write_waiting(why, now))

    def say_pod_group_refused(self, key: str, refusal: str, now: datetime) -> None:
        """Tell the owner of a started Job, and write on it, why its PodGroup is refused; empty: it is not any more."""
        objects = self._writes.free_objects(key)
        if not objects:
            return
        if refusal:
            self._events.pod_group_refused(refusal, objects)
        self._say_waiting(key, objects[0], annotations.write_pod_group_refusal(refusal, now) if refusal else None)

    def _say_waiting(self, key: str, seen: WorkloadObject, text: str | None) -> None:
        """Write that on the first object of the workload, or take off what is there; nothing is assumed by it."""
        written = patches.annotate(seen.metadata, {WAITING: text})
        self._writes.begin(key, self._writes.say(seen, written, WAITING))

    def _annotate(self, before: Workload, after: Workload, written: AnnotationPatch, mark: Mark) -> bool:
        """Write these annotations on all objects of the workload; return whether the write was begun."""
        key = self._writes.free_key(before)
        if key is None:
            return False
        objects = self._writes.free_objects(key)
        self._work.decided.assume(key, after, mark)

        async def write() -> None:
            outcome = await self._writes.patch(
                key, objects, lambda each: patches.annotate(each.metadata, written), mark
            )
            if outcome.fate in DONE:
                self._work.overlay.unwritten.drop(key, written)
            elif outcome.fate in (WriteOutcome.INVALID, WriteOutcome.TOO_LARGE):
                self._work.decided.keep_unwritten(key, written)
            # It does not change the generation, and a later one might hide it: do not wait for its echo indefinitely.
            asyncio.get_running_loop().call_later(_ECHO.total_seconds(), self._work.decided.forget, key, mark)

        self._writes.begin(key, write())
        return True
